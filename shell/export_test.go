package shell

// TextWidth is how many columns of a terminal the text takes.
var TextWidth = textWidth

// Complete completes a line in a session.
func Complete(s *Session, line string) []string {
	_, words := s.complete(line)
	return words
}

var (
	LoadHistory = loadHistory
	SaveHistory = saveHistory
)
