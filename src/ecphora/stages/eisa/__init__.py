"""Steps of EISA: the episodic necessity checker, chronology weights, the side network."""
