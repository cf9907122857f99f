package tty

// Pasted is what is read when this was typed.
func Pasted(typed ...string) string {
	p := &pasteReader{}
	for _, t := range typed {
		for i := range len(t) {
			p.take(t[i])
		}
	}
	return string(p.out)
}

// HistoryEntries is how many entries a history keeps.
const HistoryEntries = historyEntries
