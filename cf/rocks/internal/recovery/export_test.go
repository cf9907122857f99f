package recovery

// NoteFamilies takes records of a manifest. It returns the number of families, and
// those that were dropped.
func NoteFamilies(records ...[]byte) (names int, dropped []string) {
	var families familyEdits
	for _, r := range records {
		families.note(r)
	}
	return len(families.names), families.droppedNames()
}
