package shell

import (
	"strings"
	"time"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/query"
)

// TextWidth is how many columns of a terminal the text takes.
var TextWidth = textWidth

// Successor is the first text after all texts with a prefix.
var Successor = successor

// Complete completes a line in a session and returns the completed lines. It waits for
// the database.
func Complete(s *Session, line string) []string {
	s.patience = time.Hour
	begin, words, more := s.complete(line)
	if more {
		words = withMore(words)
	}
	for i, w := range words {
		words[i] = line[:begin] + w
	}
	return words
}

// TableWhileIdle feeds rows to the table format, and returns the output while the next
// row is awaited: at once, and after the rows were held long enough.
func TableWhileIdle(rows []*query.Row) (before, after string) {
	var b strings.Builder
	t := &tabular{view: &view{out: newOutput(&b, true), stream: &exec.RowStream{Statement: &ql.Scan{}, Read: ql.Read{Versions: 1}}}, style: tableStyle}
	for _, r := range rows {
		t.row(r)
	}
	t.idle()
	t.out.flush()
	before = b.String()
	t.since = t.since.Add(-2 * holdTime)
	t.idle()
	t.out.flush()
	return before, b.String()
}
