package memory

// Again is a store with everything that a closed one had.
func Again(closed *Store) *Store {
	m := New()
	m.state, m.log, m.clock, m.made = closed.state, closed.log, closed.clock, closed.made
	return m
}
