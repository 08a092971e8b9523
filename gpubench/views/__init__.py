"""What people look at: tables, progress, charts and reports. Nothing here prints or reads files on its own."""
