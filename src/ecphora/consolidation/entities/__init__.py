"""Entity resolution: which names stand for one entity, and whom a speaker means by "my sister"."""
