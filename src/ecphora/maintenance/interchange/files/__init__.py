"""The files of other programs: folders, archives, JSON in parts, and the progress of reading them."""
