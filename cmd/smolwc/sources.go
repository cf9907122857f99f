package main

import (
	"fmt"
	"io"
	"os"
)

// sources are the statements of -c and the files of -f, in the order in which
// they were given.
type sources []source

type source struct {
	kind   sourceKind
	text   string // the statements, or the name of the file
	reader io.Reader
}

type sourceKind string

const (
	sourceStatement sourceKind = "STMT"
	sourceFile      sourceKind = "FILE"
)

// flag is a flag that adds to the list.
func (s *sources) flag(kind sourceKind) *sourceFlag { return &sourceFlag{s, kind} }

type sourceFlag struct {
	list *sources
	kind sourceKind
}

func (f *sourceFlag) Set(text string) error {
	*f.list = append(*f.list, source{kind: f.kind, text: text})
	return nil
}

func (f *sourceFlag) String() string { return "" }
func (f *sourceFlag) Type() string   { return string(f.kind) }

// typed reports whether all of them are statements of the command line.
func (s sources) typed() bool {
	for _, src := range s {
		if src.kind != sourceStatement {
			return false
		}
	}
	return len(s) > 0
}

// open opens the files, all of them before anything runs.
func (s sources) open(stdin io.Reader) error {
	for i := range s {
		switch {
		case s[i].kind == sourceStatement:
		case s[i].text == "-":
			s[i].text, s[i].reader = "stdin", stdin
		default:
			f, err := os.Open(s[i].text)
			if err != nil {
				return fmt.Errorf("-f: %w", err)
			}
			s[i].reader = f
			if info, err := f.Stat(); err == nil && info.IsDir() {
				return fmt.Errorf("-f: %s is a directory", s[i].text)
			}
		}
	}
	return nil
}

func (s sources) close() {
	for _, src := range s {
		if f, ok := src.reader.(*os.File); ok && f != os.Stdin {
			_ = f.Close() // read only
		}
	}
}
