package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Fault is one thing wrong with a declaration.
type Fault struct {
	// Line is the line of the fault in the text, counted from 1; 0 when it is unknown,
	// as for a schema built in Go.
	Line int
	// Path leads to the fault, as in tables[0](fleet).families[2](meta).max_age;
	// empty when it concerns the whole text.
	Path string
	// Problem says what is wrong, and how it would be right.
	Problem string
}

// Errors is the error of [Parse], [Load] and [Schema.Validate]: every fault, in
// the order of the text, not only the first.
type Errors struct {
	// File is the name of the file; empty when the text did not come from a file.
	File   string
	Faults []Fault
}

// Error prints one line for each fault: "file:line: path: problem", without the parts
// that are not known.
func (e *Errors) Error() string {
	var lines []string
	for _, f := range e.Faults {
		lines = append(lines, f.in(e.File))
	}
	return strings.Join(lines, "\n")
}

// String is the fault on one line.
func (f Fault) String() string { return f.in("") }

func (f Fault) in(file string) string {
	var b strings.Builder
	switch {
	case file != "" && f.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", file, f.Line)
	case file != "":
		fmt.Fprintf(&b, "%s: ", file)
	case f.Line > 0:
		fmt.Fprintf(&b, "line %d: ", f.Line)
	}
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	b.WriteString(f.Problem)
	return b.String()
}

// faults collects faults.
type faults []Fault

func (fs *faults) add(path, format string, args ...any) {
	*fs = append(*fs, Fault{Path: path, Problem: fmt.Sprintf(format, args...)})
}

func (fs faults) sort() {
	slices.SortStableFunc(fs, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
}

func (fs faults) err() error {
	if len(fs) == 0 {
		return nil
	}
	return &Errors{Faults: fs}
}
