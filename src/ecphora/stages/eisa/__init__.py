"""Steps of EISA: the episodic necessity checker, the two banks, the side network, the similarity gate, chronology."""
