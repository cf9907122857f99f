package console

import (
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
)

// A planNode is a stage of a plan. It takes the rows of the stages below it.
type planNode struct {
	Name, Text string
	Note       string   // how many rows or bytes, as far as they are known
	Details    []string // of what it reads or does
	From       []*planNode
}

// over puts a stage over others.
func over(n *planNode, below *planNode) *planNode {
	if below != nil {
		n.From = append(n.From, below)
	}
	return n
}

// planOf is the tree of a statement's plan, with its estimate, and its cost if it ran.
func planOf(e *exec.Explained) *planNode {
	read := &planNode{Name: "read"}
	top := read
	for _, s := range e.Steps() {
		switch s.Name {
		case "rows":
			read.Text = "rows " + s.Text
		case "scan", "pushed", "order":
			read.Details = append(read.Details, s.Name+": "+s.Text)
		case "estimate":
			read.Note = s.Text
		case "where":
			if inEngine := strings.HasSuffix(s.Text, "(in the engine)"); inEngine {
				read.Details = append(read.Details, "where: "+s.Text)
				continue
			}
			fallthrough
		default:
			top = over(&planNode{Name: s.Name, Text: s.Text}, top)
		}
	}
	root := over(&planNode{Name: "result", Text: ql.Print(e.Statement)}, top)
	if c := e.Cost; c != nil {
		root.Note = "returned " + humanize.Count(c.Returned.Rows, "row") + ", " + humanize.Count(c.Returned.Cells, "cell")
		if c.Returned.Bytes > 0 {
			root.Note += ", " + inBytes.of(c.Returned.Bytes)
		}
		root.Note += " in " + c.Elapsed.Round(10*time.Microsecond).String()
		read.Note = "looked at " + humanize.Count(c.RowsScanned, "row") + ", " + humanize.Count(c.CellsScanned, "cell")
		if c.BytesScanned > 0 {
			read.Note += ", " + inBytes.of(c.BytesScanned)
		}
		if c.Tombstones > 0 {
			read.Note += ", " + humanize.Count(c.Tombstones, "tombstone")
		}
	}
	return root
}

// planOfLines is the tree of a query's plan. EXPLAIN lists the stages in the order in which
// they run. Below a stage, and indented, are its details and the plans whose rows it takes, each
// below a line that ends with a colon. size says how large a table is, "" if nobody knows.
func planOfLines(lines []string, size func(table string) string) (top *planNode) {
	var others []*planNode // queries in expressions
	for _, p := range partsOf(lines) {
		if p.isPlan() {
			others = append(others, p.plan(size))
			continue
		}
		n := &planNode{}
		var text string
		if n.Name, text, _ = strings.Cut(p.line, " "); strings.HasPrefix(text, "join") {
			n.Name, text = n.Name+" join", strings.TrimPrefix(strings.TrimPrefix(text, "join"), " ")
		}
		if n.Text = text; n.Name == "read" {
			_, table, _ := strings.Cut(text, " of ")
			if table = strings.TrimSuffix(strings.TrimPrefix(table, "rows of "), ", from the last"); table != "" {
				n.Note = size(table)
			}
		}
		for _, below := range partsOf(p.below) {
			if below.isPlan() {
				n.From = append(n.From, below.plan(size))
			} else {
				n.Details = append(n.Details, below.line)
			}
		}
		top = over(n, top)
	}
	if top != nil {
		top.From = append(top.From, others...)
	}
	return top
}

// A part is a line of a plan, and the lines below it without their indentation.
type part struct {
	line  string
	below []string
}

func partsOf(lines []string) (all []part) {
	for _, line := range lines {
		if below, ok := strings.CutPrefix(line, "  "); ok && len(all) > 0 {
			last := &all[len(all)-1]
			last.below = append(last.below, below)
			continue
		}
		all = append(all, part{line: line})
	}
	return all
}

func (p part) isPlan() bool { return len(p.below) > 0 && strings.HasSuffix(p.line, ":") }

func (p part) plan(size func(table string) string) *planNode {
	return over(&planNode{Name: strings.TrimSuffix(p.line, ":")}, planOfLines(p.below, size))
}

// sizeOf is what the last sample of the metrics says of a table.
func (v *visit) sizeOf(table string) string {
	all := v.tablesWithFigures()
	i := slices.IndexFunc(all, func(t frameTable) bool { return t.Name == table })
	if i < 0 || all[i].Size == "" {
		return ""
	}
	if all[i].Rows == "" {
		return "the table has " + all[i].Size
	}
	return "the table has about " + all[i].Rows + " rows, " + all[i].Size
}
