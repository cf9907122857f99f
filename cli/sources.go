package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/shell"
)

// sources are the statements of -c and the files of -f, in the order of the command
// line.
type sources []source

type source struct {
	kind   sourceKind
	text   string // the statements, or the name of the file
	name   string // of statements in messages; "" if there is only one
	reader io.Reader
}

type sourceKind int

const (
	sourceStatement sourceKind = iota
	sourceFile
)

func (s *sources) add(kind sourceKind) func(text string) error {
	return func(text string) error {
		*s = append(*s, source{kind: kind, text: text})
		return nil
	}
}

// typed reports whether all sources are statements of the command line.
func (s sources) typed() bool {
	for _, src := range s {
		if src.kind != sourceStatement {
			return false
		}
	}
	return len(s) > 0
}

// wantData reports whether the statements of the command line need tables and do not
// create any. It returns false for statements that it cannot parse.
func (s sources) wantData() bool {
	wanted := false
	known, _ := s.each(func(st ql.Statement) bool {
		switch st.(type) {
		case *ql.CreateTable:
			return false
		case nil, *ql.Help, *ql.Quit:
		default:
			wanted = true
		}
		return true
	})
	return known && wanted
}

// onlyRead reports whether the statements of the command line change no rows and no
// tables. Statements that it cannot parse change nothing.
func (s sources) onlyRead() bool {
	writes := false
	_, _ = s.each(func(st ql.Statement) bool {
		writes = st != nil && !exec.Reads(st)
		return !writes
	})
	return !writes
}

// explain reports whether the sources only ask for help, which needs no database.
func (s sources) explain() bool {
	asked := false // an empty text does not ask
	only, _ := s.each(func(st ql.Statement) bool {
		_, asked = st.(*ql.Help)
		return asked
	})
	return s.typed() && only && asked
}

// unreadable is the error of the first statement of the command line that cannot be parsed.
func (s sources) unreadable() error {
	_, err := s.each(func(ql.Statement) bool { return true })
	return err
}

// each calls f for the statements of the command line, with nil for a command of the
// session. It returns false if f does, or if a statement cannot be parsed, with that error.
func (s sources) each(f func(ql.Statement) bool) (all bool, err error) {
	for _, src := range s {
		if src.kind != sourceStatement {
			continue
		}
		for r := ql.NewReader(strings.NewReader(src.text)); ; {
			text, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return false, err
			}
			var st ql.Statement
			if !text.Session {
				st, err = ql.Env{}.Parse(text)
			}
			if err != nil || !f(st) {
				return false, err
			}
		}
	}
	return true, nil
}

// name numbers the statements of the command line if there are several.
func (s sources) name() {
	var typed []*source
	for i := range s {
		if s[i].kind == sourceStatement {
			typed = append(typed, &s[i])
		}
	}
	for i, src := range typed {
		if len(typed) > 1 {
			src.name = fmt.Sprintf("-c #%d", i+1)
		}
	}
}

// open opens all files before any statement runs. The context ends the wait for a pipe.
func (s sources) open(ctx context.Context, stdin io.Reader) error {
	for i := range s {
		switch {
		case s[i].kind == sourceStatement:
		case s[i].text == "-":
			s[i].text, s[i].reader = shell.Stdin, stdin
		default:
			path, err := osfile.Home(s[i].text)
			if err != nil {
				return fmt.Errorf("-f: %w", err)
			}
			f, err := osfile.Open(ctx, path, os.O_RDONLY, 0)
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
