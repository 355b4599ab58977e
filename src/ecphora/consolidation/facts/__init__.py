"""Claims that statements make, and which earlier claims they supersede or contradict."""
