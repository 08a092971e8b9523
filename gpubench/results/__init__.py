"""Result files: the versioned JSON, its strict reader, its safe writer, where files lie, and exports."""
