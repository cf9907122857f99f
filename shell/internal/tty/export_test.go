package tty

// Pasted is the text that is read for this input.
func Pasted(typed ...string) string {
	p := &pasteReader{}
	for _, t := range typed {
		for i := range len(t) {
			p.take(t[i])
		}
	}
	return string(p.out)
}

// HistoryEntries is the number of entries that a history keeps.
const HistoryEntries = historyEntries
