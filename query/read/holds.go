package read

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/bytere"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/tuple"
)

// Newest finds the newest visible cell of a column in a row. A *query.Row of the newest
// cells is one.
type Newest interface {
	Cell(family, qualifier string) (cells.Cell, bool)
}

// Holds judges a row by its key and its cells. A nil row is empty. It takes the time that
// the condition's patterns need; [Condition.HoldsIn] bounds it.
func (c *Condition) Holds(key string, row Newest) bool {
	holds, _ := c.HoldsIn(bytere.NewWork(context.Background(), math.MaxInt), key, row)
	return holds
}

// HoldsIn is Holds with a context that ends it, within a part of a millisecond. It fails when
// the patterns take too long on the row: for more than about a second and some time for each
// byte.
func (c *Condition) HoldsIn(ctx context.Context, key string, row Newest) (bool, error) {
	if row == nil {
		row = noCells{}
	}
	if c == nil {
		return false, nil
	}
	j := judging{ctx: ctx, key: key, row: row}
	holds := c.judge(&j) == Yes
	return holds && j.err == nil, j.err
}

// A judging judges one row.
type judging struct {
	ctx context.Context
	key string
	row Newest
	err error
}

type noCells struct{}

func (noCells) Cell(string, string) (c cells.Cell, ok bool) { return c, false }

// A Verdict is the value of a condition in SQL's logic: with AND the least counts, with
// OR the greatest.
type Verdict int8

const (
	No      Verdict = iota - 1 // it is false
	Unknown                    // it is neither, since there is no cell
	Yes                        // it is true
)

// String is the verdict in words.
func (v Verdict) String() string {
	switch {
	case v > Unknown:
		return "true"
	case v < Unknown:
		return "false"
	}
	return "no cell"
}

// A Part is a condition, or one of its terms, as it was judged on a row.
type Part struct {
	Condition Condition
	Depth     int // 0: the whole condition; its terms have 1, and so on
	Verdict   Verdict
	// Value is the value that was judged, and Other the one of another column, if it was
	// compared with one. They are zero if there is no such cell, and for All, Any and Negate.
	Value, Other cells.Value
}

// Judge judges a condition part by part, each before its terms. The context ends it as it
// ends [Condition.HoldsIn].
func (c *Condition) Judge(ctx context.Context, key string, row Newest) ([]Part, error) {
	if row == nil {
		row = noCells{}
	}
	j := judging{ctx: ctx, key: key, row: row}
	parts := c.appendParts(nil, &j, 0)
	return parts, j.err
}

func (c *Condition) appendParts(parts []Part, j *judging, depth int) []Part {
	if c == nil || j.err != nil {
		return parts
	}
	p := Part{Condition: *c, Depth: depth, Verdict: c.judge(j)}
	if len(c.Terms) == 0 {
		p.Value, _ = c.value(j.key, j.row)
	}
	if c.Kind == ComparesColumns {
		other := Condition{Family: c.Other.Family, Qualifier: c.Other.Qualifier, On: c.On}
		p.Other, _ = other.value(j.key, j.row)
	}
	parts = append(parts, p)
	for i := range c.Terms {
		parts = c.Terms[i].appendParts(parts, j, depth+1)
	}
	return parts
}

func verdictOf(holds bool) Verdict {
	if holds {
		return Yes
	}
	return No
}

func (c *Condition) judge(j *judging) Verdict {
	switch c.Kind {
	case AnyOf:
		all := No
		for i := range c.Terms {
			if all = max(all, c.Terms[i].judge(j)); all == Yes {
				break
			}
		}
		return all
	case AllOf:
		all := Yes
		for i := range c.Terms {
			if all = min(all, c.Terms[i].judge(j)); all == No {
				break
			}
		}
		return all
	case Not:
		if len(c.Terms) != 1 {
			return Unknown
		}
		return -c.Terms[0].judge(j)
	case IsPresent, IsAbsent:
		_, found := j.row.Cell(c.Family, c.Qualifier)
		return verdictOf(found == (c.Kind == IsPresent))
	}
	if c.On == OnKeyPart && c.Kind == IsOneOf {
		return c.judgePart(j.key)
	}
	v, ok := c.value(j.key, j.row)
	if !ok {
		return Unknown
	}
	switch c.Kind {
	case IsOneOf:
		return verdictOf(c.isOneOf(v))
	case Matches:
		return verdictOf(c.matches(j, v))
	case ComparesColumns:
		other, ok := j.row.Cell(c.Other.Family, c.Other.Qualifier)
		switch {
		case !ok:
			return Unknown
		case c.On == OnTime:
			return verdictOf(c.Op.Holds(v, cells.I64(int64(other.Timestamp))))
		}
		return verdictOf(c.Op.Holds(v, other.Value))
	}
	return verdictOf(c.Op.Holds(v, c.Value))
}

// judgePart judges whether a part of the key is one of the values: with each number the
// part is compared as a number, with each other value as text.
func (c *Condition) judgePart(key string) Verdict {
	with := c.kinds
	if c.sorted == nil {
		with = kindsIn(c.Values)
	}
	all := No
	for i, number := range []bool{false, true} {
		if !with[i] {
			continue
		}
		v, ok := keyPart(key, c.Part, number)
		switch {
		case !ok:
			all = max(all, Unknown)
		case c.isOneOf(v):
			return Yes
		}
	}
	return all
}

// kindsIn reports whether there are values that are not numbers, and numbers.
func kindsIn(values []cells.Value) (kinds [2]bool) {
	for _, v := range values {
		if v.Type().Numeric() {
			kinds[1] = true
		} else {
			kinds[0] = true
		}
	}
	return kinds
}

// matches judges text; no other value matches.
func (c *Condition) matches(j *judging, v cells.Value) bool {
	text, ok := v.AsString()
	if b, isBytes := v.AsBytes(); isBytes {
		text, ok = string(b), true
	}
	if !ok || j.err != nil {
		return false
	}
	re := c.compiled
	if re == nil {
		var err error
		if re, err = bytere.Compile(c.Pattern); err != nil {
			return false
		}
	}
	matches, err := re.Match(bytere.WorkOf(j.ctx), text)
	if errors.Is(err, bytere.ErrTooMuch) {
		err = fmt.Errorf("the pattern %q of %s %w on a value of %d bytes; repeat less in it: %s", excerpt.Of(c.Pattern), c.subject(), err, len(text), bytere.Bounds)
	}
	j.err = err
	return matches
}

// value is what the condition judges; ok is false if it is not there.
func (c *Condition) value(key string, row Newest) (v cells.Value, ok bool) {
	switch c.On {
	case OnKey:
		return cells.Bytes([]byte(key)), true
	case OnKeyPart:
		return keyPart(key, c.Part, c.Value.Type().Numeric())
	}
	cell, ok := row.Cell(c.Family, c.Qualifier)
	if ok && c.On == OnTime {
		return cells.I64(int64(cell.Timestamp)), true
	}
	return cell.Value, ok
}

// KeyPart is an element of a row key, as [WhereKeyPart] finds it.
func KeyPart(key string, part int) (v cells.Value, ok bool) { return keyPart(key, part, false) }

// keyPart is an element of a key. number says that the texts of a key are numbers.
func keyPart(key string, part int, number bool) (v cells.Value, ok bool) {
	if elements, err := tuple.Unpack([]byte(key)); err == nil {
		if part < 1 || part > len(elements) {
			return v, false
		}
		return elementValue(elements[part-1])
	}
	for text := range strings.SplitSeq(key, "#") {
		if part--; part == 0 {
			return textValue(text, number)
		}
	}
	return v, false
}

// textValue is a part of a key of text. Compared with a number it is the number that it
// writes in decimal digits, perhaps with a sign, a point and an exponent: not an infinity,
// a NaN or a hexadecimal number.
func textValue(text string, number bool) (v cells.Value, ok bool) {
	switch {
	case number:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return cells.I64(n), true
		}
		f, err := strconv.ParseFloat(text, 64)
		return cells.F64(f), err == nil && strings.Trim(text, "+-.0123456789eE") == ""
	case utf8.ValidString(text):
		return cells.String(text), true
	}
	return cells.Bytes([]byte(text)), true
}

// elementValue is an element of a tuple as a value; ok is false for nil and for elements
// that no value can be.
func elementValue(element any) (v cells.Value, ok bool) {
	switch e := element.(type) {
	case tuple.Descending:
		return elementValue(e.Element)
	case bool:
		return cells.Bool(e), true
	case string:
		return cells.String(e), true
	case []byte:
		return cells.Bytes(e), true
	case int64:
		return cells.I64(e), true
	case uint64:
		if e <= math.MaxInt64 {
			return cells.I64(int64(e)), true
		}
		return cells.F64(float64(e)), true
	case *big.Int:
		f, _ := new(big.Float).SetInt(e).Float64()
		return cells.F64(f), true
	case float32:
		return cells.F32(e), true
	case float64:
		return cells.F64(e), true
	case uuid.UUID:
		return cells.Bytes(e[:]), true
	}
	return v, false
}

// String is the condition as the shell writes it, about: values are shown as they are.
func (c Condition) String() string {
	switch c.Kind {
	case AnyOf, AllOf:
		var terms []string
		for i := range c.Terms {
			terms = append(terms, c.Terms[i].String())
		}
		return "(" + strings.Join(terms, map[ConditionKind]string{AnyOf: " or ", AllOf: " and "}[c.Kind]) + ")"
	case Not:
		if len(c.Terms) == 1 {
			return "not " + c.Terms[0].String()
		}
		return "not"
	}
	subject := c.subject()
	switch c.Kind {
	case IsPresent:
		return subject + " exists"
	case IsAbsent:
		return subject + " absent"
	case IsOneOf:
		var values []string
		for _, v := range c.Values {
			values = append(values, v.String())
		}
		return subject + " in (" + strings.Join(values, ", ") + ")"
	case Matches:
		return subject + " =~ " + strconv.Quote(c.Pattern)
	case ComparesColumns:
		other := Condition{Family: c.Other.Family, Qualifier: c.Other.Qualifier, On: c.On}
		return subject + " " + c.Op.String() + " " + other.subject()
	}
	return subject + " " + c.Op.String() + " " + c.Value.String()
}
