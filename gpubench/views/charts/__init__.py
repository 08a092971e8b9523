"""The charts of a result or a comparison. Each module gives `Chart`s, which are drawn and written by `files`."""
