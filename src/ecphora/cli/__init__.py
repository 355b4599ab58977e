"""The command line: a file for each group of commands, and the modules that they share."""
