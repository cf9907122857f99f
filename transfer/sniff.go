package transfer

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// A CSV file does not say how it is written. Its beginning is read in each way that is
// likely, and the way counts in which most lines have the same number of fields and the
// fields look like values.

// sniffed is how much of a file is looked at, in bytes and in records.
const (
	sniffed     = 64 << 10
	sniffedRows = 1000
)

// separators are those that are looked for, the likelier ones first.
var separators = [...]string{",", ";", "\t", "|"}

// A sight describes the beginning of a file.
type sight struct {
	Dialect
	header
	rows [][]string // records of data
	bad  int        // records with a quote that is not closed, or with another number of fields
}

// Long lines are looked at until there are these many, up to so many bytes.
const (
	sniffedLines = 3
	mostSniffed  = 4 << 20
)

// peek returns the beginning of a text, whether it is all of it, and a reader of the whole
// text. Of a live stream it is the part that came so far, three lines at least.
func peek(in *bufio.Reader, live bool) (head []byte, whole bool, all *bufio.Reader, err error) {
	for n := 1; live && n <= sniffed; n = in.Buffered() + 1 {
		_, err = in.Peek(n)
		if head, _ = in.Peek(min(in.Buffered(), sniffed)); err != nil || lineEnds(head) >= 2*sniffedLines {
			break
		}
	}
	if !live {
		head, err = in.Peek(sniffed)
	}
	if err == nil && lineEnds(head) < sniffedLines {
		in = bufio.NewReaderSize(in, mostSniffed)
		for n := len(head); err == nil && n < mostSniffed && lineEnds(head) < sniffedLines; n = len(head) {
			_, err = in.Peek(n + 1)
			head, _ = in.Peek(in.Buffered())
		}
	}
	if whole = errors.Is(err, io.EOF); whole {
		err = nil
	}
	return head, whole, in, err
}

func lineEnds(text []byte) int {
	return bytes.Count(text, []byte("\n")) + bytes.Count(text, []byte("\r"))
}

// sniffFor looks at the beginning of a file that should have certain fields: a line with
// their names is the header.
func sniffFor(head []byte, whole bool, given Dialect, names *fieldNames) sight {
	first := sniff(head, whole, given)
	named, plain := first.Dialect, given
	named.Header, plain.Header = cmp.Or(given.Header, Yes), cmp.Or(given.Header, Yes)
	plain.Separator, plain.Quote, plain.Comment = cmp.Or(given.Separator, ","), cmp.Or(given.Quote, `"`), cmp.Or(given.Comment, None)
	plain.Skip = cmp.Or(given.Skip, -1)
	for _, s := range []func() sight{
		func() sight { return first },
		func() sight { return sniff(head, whole, named) },
		func() sight { return sniff(head, whole, plain) },
	} {
		if s := s(); names.allIn(s.header) {
			return s
		}
	}
	return first
}

// sniff looks at the beginning of a text; whole says that it is all of it. Given parts
// of the form stay.
func sniff(head []byte, whole bool, given Dialect) sight {
	if d, ok := exported(head, given); ok {
		v := readAs(head, whole, d, d)
		return v.sight(d)
	}
	best, top := view{}, -1.0
	var usual view // with the same separator and ", which come first
	for _, d := range ways(head, given) {
		v := readAs(head, whole, d, given)
		if v.quoteByte() == '"' && !v.backslash {
			usual = v
		}
		other := d.Quote != given.Quote && usual.Separator == d.Separator && // another quote needs a reason
			(d.Quote == None && (usual.spoilt < 2 || usual.opened > usual.spoilt) || d.Quote == "'" && usual.opened >= v.opened)
		if score := v.score(); score > top && !other {
			best, top = v, score
		}
	}
	if best.width == 1 && given.Separator == "" {
		if v, ok := rarelySeparated(head, whole, given); ok {
			return v.sight(given)
		}
		// a list
		best.Dialect.Separator = ","
		if v := readAs(head, whole, best.Dialect, given); v.alone() || v.spoilt > 0 {
			return v.sight(given)
		}
		for _, sep := range []string{"\t", ";", "|", "\x1f"} { // no line contains this
			if best.Dialect.Separator = sep; !bytes.Contains(head, []byte(sep)) {
				break
			}
		}
		best = readAs(head, whole, best.Dialect, given)
	}
	return best.sight(given)
}

// rareSeparators are looked for if no other one separates anything: they are in texts and
// times of one field too.
var rareSeparators = [...]string{" ", ":", "#", "^", "~"}

// rarelySeparated is how a file with a rare separator is written: a header has a name for each
// of three fields or more, each line has as many fields, and some column is of numbers or
// dates only.
func rarelySeparated(head []byte, whole bool, given Dialect) (v view, ok bool) {
	if given.Header == No {
		return v, false
	}
	for _, sep := range rareSeparators {
		d := given
		d.Separator, d.Quote, d.Header = sep, cmp.Or(given.Quote, `"`), Yes
		if v = readAs(head, whole, d, given); v.width >= 3 && v.first == 0 && v.isTable() {
			return v, true
		}
	}
	return v, false
}

// isTable reports whether all lines have as many fields as the header has names, and whether a
// column of values shows that it is one.
func (v *view) isTable() bool {
	if len(v.records) < 3 || v.Comment == commentMark || slices.ContainsFunc(v.records, func(r viewed) bool { return r.spoilt || len(r.fields) != v.width }) {
		return false
	}
	for i, name := range v.records[0].fields {
		if !isIdentifier(name) || slices.ContainsFunc(v.records[1:], func(r viewed) bool { return r.fields[i] == name }) {
			return false
		}
	}
	if !v.names(0) {
		return false
	}
	for i := range v.width {
		values, others := 0, 0
		for _, r := range v.records[1:] {
			switch kindOf(r.fields[i]) {
			case kindNumber, kindDate:
				values++
			case kindText:
				others++
			}
		}
		if values > 0 && others == 0 {
			return true
		}
	}
	return false
}

// exported is how an export writes a file, whose first field is the row, or scan its cells. Values
// may look like anything, so nothing is to be seen in them.
func exported(head []byte, given Dialect) (d Dialect, ok bool) {
	sep := cmp.Or(given.Separator, ",")
	name, _, ok := bytes.Cut(head, []byte(sep))
	line, _, _ := bytes.Cut(head, []byte("\n"))
	listed := strings.TrimSuffix(string(line), "\r") == strings.Join(listedFields, sep)
	if ok = ok && sep == "," && codeName(string(name)) == rowField; !ok && !listed {
		return given, false
	}
	d = given
	d.Separator, d.Quote, d.Header, d.Comment = sep, cmp.Or(given.Quote, `"`), cmp.Or(given.Header, Yes), cmp.Or(given.Comment, None)
	d.Skip = cmp.Or(given.Skip, -1)
	return d, true
}

// codeName is the name of a field without the suffix of its encoding.
func codeName(name string) string {
	if c := codeOf(name); c != noCode {
		return strings.TrimSuffix(name, suffixes[c])
	}
	return name
}

// alone reports whether every record is of a single field.
func (v *view) alone() bool {
	return !slices.ContainsFunc(v.records, func(r viewed) bool { return len(r.fields) != 1 })
}

// ways are the dialects to try.
func ways(head []byte, given Dialect) (all []Dialect) {
	seps, quotes := slices.Clone(separators[:]), []string{`"`, "'", None}
	seps = slices.DeleteFunc(seps, func(sep string) bool { return sep != "," && !bytes.Contains(head, []byte(sep)) })
	if !bytes.Contains(head, []byte(`"`)) {
		quotes = quotes[:2]
	}
	if !bytes.Contains(head, []byte("'")) {
		quotes = slices.DeleteFunc(quotes, func(q string) bool { return q == "'" })
	}
	if given.Separator != "" {
		seps = []string{given.Separator}
	}
	if given.Quote != "" {
		quotes = []string{given.Quote}
	}
	for _, sep := range seps {
		for _, q := range quotes {
			d := given
			d.Separator, d.Quote = sep, q
			all = append(all, d)
			if q != None && bytes.Contains(head, []byte(`\`+q)) {
				d.backslash = true
				all = append(all, d)
			}
		}
	}
	return all
}

// A view is the beginning of a file, read in one way.
type view struct {
	Dialect
	records []viewed
	width   int // the number of fields that most records have
	first   int // the index of the header, or of the first record of data
	opened  int // fields in quotes
	spoilt  int // records with a quote that is not closed
	escaped int // quotes after a backslash, within quotes
}

type viewed struct {
	fields []string
	line   int  // counted from 1
	spoilt bool // a quote is not closed
	quoted bool
}

// readAs reads a text in one way.
func readAs(head []byte, whole bool, d, given Dialect) view {
	v := view{Dialect: d}
	if given.Comment == "" {
		d.Comment = None
	}
	lines := &textLines{in: bufio.NewReaderSize(bytes.NewReader(head), 1<<16)}
	for range max(given.Skip, 0) {
		_, _ = lines.next() // at the end there are no records
	}
	in := newCSVRecords(lines, "", &d)
	for len(v.records) < sniffedRows {
		fields, err := in.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if v.opened += in.opened; err != nil {
			v.spoilt++
		}
		if len(fields) == 1 && strings.TrimSpace(fields[0]) == "" && in.opened == 0 && err == nil {
			continue // a line of spaces
		}
		v.records = append(v.records, viewed{fields: slices.Clone(fields), line: lines.first, spoilt: err != nil, quoted: in.opened > 0})
	}
	if n := len(v.records); !whole && n > 1 && n < sniffedRows { // cut off
		v.records = v.records[:n-1]
	}
	v.escaped = in.escaped
	v.width = v.mostWidth(nil)
	v.findComments(given)
	v.findStart(given)
	return v
}

// mostWidth is the number of fields that most records have.
func (v *view) mostWidth(skip func(viewed) bool) int {
	counts := map[int]int{}
	for _, r := range v.records {
		if !r.spoilt && (skip == nil || !skip(r)) {
			counts[len(r.fields)]++
		}
	}
	width, most := 1, 0
	for w, n := range counts {
		if n > most || n == most && w > width {
			width, most = w, n
		}
	}
	if all := len(v.records); all > 0 && width == 1 && 5*most < 4*all { // the header says more than short lines
		width = max(1, len(v.records[0].fields))
	}
	return width
}

const commentMark = "#"

// findComments drops lines that begin with # and are not like the others.
func (v *view) findComments(given Dialect) {
	if given.Comment != "" {
		return
	}
	is := func(r viewed) bool {
		return !r.quoted && len(r.fields) > 0 && strings.HasPrefix(r.fields[0], commentMark)
	}
	others, alike, data := 0, 0, false
	width := v.mostWidth(is)
	for _, r := range v.records {
		switch {
		case !is(r):
			data = true
		case data && strings.HasPrefix(r.fields[0], commentMark+" "):
			others++
		case len(r.fields) == width && (width > 1 || !strings.HasPrefix(r.fields[0], commentMark+" ")):
			alike++
		default:
			others++
		}
	}
	// A header may begin with # too, and so may data, as #1.
	if others == 0 || alike > 0 || others == len(v.records) {
		return
	}
	v.Comment = commentMark
	v.width = width
	v.records = slices.DeleteFunc(v.records, is)
}

// findStart finds the header, or the first record of data, after titles and notes.
func (v *view) findStart(given Dialect) {
	if given.Skip != 0 || v.width == 1 {
		return
	}
	for i, r := range v.records {
		values := filled(r.fields)
		switch {
		case r.spoilt && i == 0: // the header
			return
		case r.spoilt || values == 0:
		case len(r.fields) == v.width && (values > 1 || v.width == 2 || !v.titleBefore(i)):
			v.first = i
			return
		case len(r.fields) != v.width && values > 1 && 2*len(r.fields) > v.width && i+1 < len(v.records) && len(v.records[i+1].fields) == v.width && !v.names(i+1):
			v.first = i // a header with too few names, or too many
			return
		}
	}
}

// titleBefore reports whether the record i, of one value, is a title: the next ones are a
// header and data.
func (v *view) titleBefore(i int) bool {
	for j := i + 1; j < len(v.records); j++ {
		if n := filled(v.records[j].fields); n > 1 {
			return v.names(j)
		}
	}
	return false
}

// names reports whether the fields of a record could be names.
func (v *view) names(i int) bool {
	seen := map[string]bool{}
	for _, f := range v.records[i].fields {
		if f != "" && (kindOf(f) != kindText && !isYear(f) || seen[f]) {
			return false
		}
		seen[f] = true
	}
	return true
}

func filled(fields []string) (n int) {
	for _, f := range fields {
		if strings.TrimSpace(f) != "" {
			n++
		}
	}
	return n
}

// score is the better the more records have the same number of fields, and the more fields
// look like values.
func (v *view) score() float64 {
	if len(v.records) == 0 {
		return 0
	}
	rows := v.records[v.first:]
	even, cells, good := 0.0, 0.0, 0.0
	for _, r := range rows {
		switch n := len(r.fields); {
		case r.spoilt:
			continue
		case n == v.width || n > v.width && filled(r.fields[v.width:]) == 0:
			even++
		case n < v.width && n > 1:
			even += 0.4
		}
		for _, f := range r.fields {
			cells++
			good += v.likely(f)
		}
	}
	if cells == 0 {
		return 0
	}
	even /= float64(len(rows))
	early := 1 - 0.5*float64(v.first)/float64(len(v.records))
	score := even * even * good / cells * early
	width := v.width
	if width > 1 && !slices.ContainsFunc(rows, func(r viewed) bool { return len(r.fields) == width && r.fields[width-1] != "" }) {
		width-- // each line ends in a separator
	}
	if width == 1 {
		return 0.12 * score
	}
	score *= 1 - 0.6/float64(width)
	if v.backslash && v.escaped == 0 {
		score *= 0.999 // the plainer way
	}
	return score
}

// likely says how likely a text is the value of a field.
func (v *view) likely(s string) float64 {
	switch kindOf(s) {
	case kindBlank:
		return 0.95
	case kindNumber, kindDate:
		return 1
	}
	if n := len(s); n > 1 && s[0] == s[n-1] && (s[0] == '"' || s[0] == '\'') || strings.Count(s, `"`)%2 == 1 || strings.Count(s, "(") != strings.Count(s, ")") {
		return 0.4
	}
	for _, sep := range separators {
		if sep != v.Separator && strings.Contains(s, sep) {
			if (sep == "," || sep == ";") && !strings.Contains(strings.ReplaceAll(s, sep+" ", ""), sep) {
				return 0.9 // a sentence
			}
			return 0.5
		}
	}
	return 1
}

// sight is the result of the best view.
func (v *view) sight(given Dialect) sight {
	s := sight{Dialect: v.Dialect}
	if v.escaped == 0 {
		s.backslash = false
	}
	if len(v.records) == 0 {
		return s
	}
	rows := v.records[v.first:]
	if v.first > 0 && given.Skip == 0 {
		s.Skip = rows[0].line - 1
	}
	if s.Header == "" {
		s.Header = Yes
		if !rows[0].spoilt && !v.hasHeader() {
			s.Header = No
		}
	}
	names := rows[0].fields
	if s.Header == No {
		names = make([]string, v.width)
	} else {
		rows = rows[1:]
	}
	s.header = newHeader(names)
	short := 0
	for _, r := range rows {
		switch n := len(r.fields); {
		case r.spoilt || n > len(names) && filled(r.fields[len(names):]) > 0:
			s.bad++
			continue
		case n < len(names):
			short++
		}
		s.rows = append(s.rows, r.fields)
	}
	// Many short lines are how the file is written; a few are mistakes in it.
	if short > 1 && 50*short >= len(rows) && 2*(len(s.rows)-short) >= len(rows) {
		s.Ragged = true
	} else {
		s.bad += short
		s.rows = slices.DeleteFunc(s.rows, func(fields []string) bool { return len(fields) < len(names) && !given.Ragged })
	}
	if s.Decimal == "" && s.Separator != "," && s.decimalComma() {
		s.Decimal = ","
	}
	return s
}

// hasHeader compares the first record with the others: a header is text over numbers and
// dates, or of other shapes than its columns.
func (v *view) hasHeader() bool {
	rows := v.records[v.first:]
	first := rows[0].fields
	if filled(first) == 0 {
		return false
	}
	yes, no := 0, 0
	for i, name := range first {
		k := kindOf(name)
		kinds := [4]int{}
		repeats, n := 0, 0
		shape := ""
		for _, r := range rows[1:] {
			if r.spoilt || i >= len(r.fields) {
				continue
			}
			f := r.fields[i]
			kinds[kindOf(f)]++
			if n++; f == name && f != "" {
				repeats++
			}
			switch of := shapeOf(f); {
			case f == "":
			case shape == "":
				shape = of
			case shape != of:
				shape = "*"
			}
		}
		values := n - kinds[kindBlank]
		switch {
		case values == 0:
		case 10*(kinds[kindNumber]+kinds[kindDate]) >= 9*values: // a column of numbers
			if k == kindText {
				if yes += 2; kinds[kindText] == 0 && values > 1 {
					return true // no record of data contains text here
				}
			} else if k != kindBlank {
				if isYear(name) && !isYear(rows[min(1, len(rows)-1)].fields[min(i, len(rows[min(1, len(rows)-1)].fields)-1)]) {
					continue // years are names too
				}
				no += 2
			}
		case k == kindNumber || k == kindDate: // over text
			no++
		case repeats > 0:
			no++
		case n > 2 && shape != "" && shape != "*" && len(shape) > 1:
			if shapeOf(name) == shape {
				no++
			} else {
				yes++
			}
		}
	}
	if yes == no { // text everywhere
		return v.names(v.first) || yes > 0
	}
	return yes > no
}

// decimalComma reports whether some column writes numbers as in 1.234,5, and none as in
// 1234.5.
func (s *sight) decimalComma() bool {
	found := false
	for i := range s.names {
		commas, points, others := 0, 0, 0
		for _, r := range s.rows {
			if i >= len(r) || kindOf(r[i]) == kindBlank {
				continue
			}
			_, whole := strconv.Atoi(strings.TrimSpace(r[i]))
			_, point := strconv.ParseFloat(strings.TrimSpace(r[i]), 64)
			plain, comma := withPoint(strings.TrimSpace(r[i]))
			_, number := strconv.ParseFloat(plain, 64)
			switch {
			case whole == nil:
			case point == nil:
				points++
			case comma && number == nil:
				commas++
			default:
				others++
			}
		}
		if points > 0 && others == 0 && commas == 0 {
			return false
		}
		found = found || commas > 0 && points == 0 && others == 0
	}
	return found
}
