package transfer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A jsonReader reads one JSON object per line. It skips blank lines. It keeps the
// text of numbers, so that no number is rounded.
type jsonReader struct {
	file  string
	in    *bufio.Reader
	names *fieldNames
	index map[string][]member
	paths map[string][]int // the fields that are paths, by the member in which they begin
	ranks []int            // for the fields of the current object
	line  int
	last  []byte          // the current line
	long  []byte          // a line longer than the buffer of in
	known map[string]bool // names of members read, for messages; at most maxKnown
	order []string        // the same names in the order of the file
	seen  []bool          // which of the used fields any object had
	any   bool            // whether there was an object
}

// A member is a field under one of its spellings; rank 1 is the first spelling.
type member struct {
	field, rank int
	code        code
}

// maxKnown bounds the names that are kept for messages.
const maxKnown = 1000

func newJSONReader(file string, r io.Reader, names *fieldNames) (*jsonReader, error) {
	j := &jsonReader{file: file, in: bufio.NewReaderSize(r, 1<<16), names: names,
		index: map[string][]member{}, paths: map[string][]int{}, ranks: make([]int, len(names.names)), known: map[string]bool{}, seen: make([]bool, len(names.names))}
	for i := range names.names {
		if p := names.paths[i]; p != nil {
			name := wholeObject
			if len(p.steps) > 0 {
				name = p.steps[0].name
			}
			j.paths[name] = append(j.paths[name], i)
			continue
		}
		for rank, s := range names.spellings(i) {
			j.index[s.name] = append(j.index[s.name], member{i, rank + 1, s.code})
		}
	}
	return j, nil
}

func (j *jsonReader) next(rec *record) error {
	for {
		text, err := j.readLine()
		if err != nil {
			return err
		}
		j.last = text
		if text = bytes.TrimSpace(text); len(text) > 0 {
			rec.line, rec.lines = j.line, 1
			return j.parse(string(text), rec)
		}
	}
}

// readLine returns the next line. It is valid until the next call.
func (j *jsonReader) readLine() ([]byte, error) {
	j.long = j.long[:0]
	for {
		part, err := j.in.ReadSlice('\n')
		switch {
		case err == nil && len(j.long) == 0:
			j.line++
			return part, nil
		case err == nil:
			j.line++
			return append(j.long, part...), nil
		case errors.Is(err, bufio.ErrBufferFull):
			if j.long = append(j.long, part...); len(j.long) > maxRecord {
				return nil, fmt.Errorf("%s:%d: the line is longer than %d MiB", j.file, j.line+1, maxRecord>>20)
			}
		case errors.Is(err, io.EOF) && len(j.long)+len(part) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			j.line++
			return append(j.long, part...), nil
		default:
			return nil, readError(j.file, j.line, err)
		}
	}
}

func (j *jsonReader) raw() (header, record []byte) { return nil, j.last }

// parse reads the used members of an object. If one of them is bad, it continues to the
// object's end, to see all names.
func (j *jsonReader) parse(text string, rec *record) error {
	if bad := checkObject(text, rec); bad != nil {
		return bad
	}
	clear(rec.fields)
	clear(j.ranks)
	j.any = true
	var first *LineError
	for s := (scanner{text, 1}); ; {
		name, ok := s.member()
		if !ok {
			break
		}
		members, used := j.index[name]
		if !used || !j.seen[members[0].field] {
			j.note(name)
		}
		start := s.pos
		s.skip()
		raw := s.text[start:s.pos]
		if paths := j.paths[name]; len(paths) > 0 {
			if bad := j.follow(rec, paths, raw); first == nil {
				first = bad
			}
		}
		if !used {
			continue
		}
		f, problem := fieldOf(raw)
		for _, m := range members {
			if bad := j.set(rec, m, f, problem); bad != nil && first == nil {
				first = bad
			}
		}
	}
	for _, i := range j.paths[wholeObject] {
		j.seen[i] = true
		rec.fields[i] = field{text: text, state: nested}
	}
	if first != nil {
		return first
	}
	return nil
}

// wholeObject stands for the object itself among the names of members. No member is so
// named, since it is not UTF-8.
const wholeObject = "\xff"

// follow sets the fields whose paths begin in a member.
func (j *jsonReader) follow(rec *record, paths []int, raw string) (first *LineError) {
	for _, i := range paths {
		value, problem := follow(raw, j.names.paths[i].steps[1:])
		var f field
		if problem == "" {
			f, problem = fieldOf(value)
		}
		bad := j.set(rec, member{i, 1, noCode}, f, problem)
		if first == nil {
			first = bad
		}
	}
	return first
}

// set sets a field's value, unless the field is in the object under a name of higher
// priority.
func (j *jsonReader) set(rec *record, m member, f field, problem string) *LineError {
	j.seen[m.field] = true
	rank := &j.ranks[m.field]
	switch {
	case *rank != 0 && *rank < m.rank:
		return nil
	case *rank == m.rank:
		problem = "occurs twice in the object; it is not clear which one is meant"
	}
	*rank = m.rank
	f.code = m.code
	rec.fields[m.field] = f
	if problem != "" {
		return rec.fault(m.field, "%s", problem)
	}
	return nil
}

// note records the name of a member for messages.
func (j *jsonReader) note(name string) {
	if len(j.known) < maxKnown && !j.known[name] {
		j.known[name] = true
		j.order = append(j.order, name)
	}
}

// close reports a used field that no object had; otherwise a misspelt name would make
// no cells and no error.
func (j *jsonReader) close() error {
	for i, name := range j.names.names {
		if !j.seen[i] && j.any && j.names.parts[i] != "" {
			return specErrorf(j.names.parts[i], "%s: %v", j.file, unknownField(name, j.order))
		}
	}
	return nil
}

// checkObject reports text that is not one well-formed JSON object in UTF-8.
func checkObject(text string, rec *record) *LineError {
	b := []byte(text)
	if !utf8.Valid(b) {
		return rec.wrong("is not valid UTF-8")
	}
	if !json.Valid(b) {
		var v any
		err := json.Unmarshal(b, &v)
		if se, ok := errors.AsType[*json.SyntaxError](err); ok {
			return rec.wrong("is not JSON: %v, at byte %d%s", err, se.Offset, onOneLine(text))
		}
		return rec.wrong("is not JSON: %v", err)
	}
	if text[0] != '{' {
		return rec.wrong("is not a JSON object, such as {\"field\": 1}%s", onOneLine(text))
	}
	return nil
}

// onOneLine says how a list, or an object over several lines, becomes JSON lines.
func onOneLine(text string) string {
	switch text[0] {
	case '[':
		return "; each line is an object, as jq -c '.[]' makes them of a list"
	case '{':
		if strings.Trim(text, "{ \t\r\n") == "" {
			return "; each line is an object, as jq -c . writes it"
		}
	}
	return ""
}
