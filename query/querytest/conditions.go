package querytest

import (
	"cmp"
	"regexp"
	"slices"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/read"
)

// A naiveRow is a row for conditions: its key, and its newest cells.
type naiveRow struct {
	key   string
	cells map[[2]string]newestCell // by family and qualifier
}

type newestCell struct {
	at    cells.Timestamp
	value int64
}

// newestOf are the newest cells of a row, given in order.
func newestOf(m *model, key string, ids []cellID) naiveRow {
	row := naiveRow{key, map[[2]string]newestCell{}}
	for _, id := range ids {
		column := [2]string{id.family, id.qualifier}
		if _, ok := row.cells[column]; !ok {
			n, _ := m.cells[id].AsI64()
			row.cells[column] = newestCell{id.ts, n}
		}
	}
	return row
}

// A judge is a condition on the model. known is false where SQL gives NULL.
type judge func(naiveRow) (holds, known bool)

var comparisons = [...]func(order int) bool{
	cells.OpEqual:          func(order int) bool { return order == 0 },
	cells.OpNotEqual:       func(order int) bool { return order != 0 },
	cells.OpLess:           func(order int) bool { return order < 0 },
	cells.OpLessOrEqual:    func(order int) bool { return order <= 0 },
	cells.OpGreater:        func(order int) bool { return order > 0 },
	cells.OpGreaterOrEqual: func(order int) bool { return order >= 0 },
}

// drawCondition draws a condition with at most this many levels of others in it.
func drawCondition(t *rapid.T, draw names, levels int) (read.Condition, judge) {
	kind := rapid.IntRange(0, 10).Draw(t, "condition")
	if levels > 0 && kind > 7 {
		return drawCompound(t, draw, levels-1, kind)
	}
	family, qualifier := draw.family.Draw(t, "family"), draw.qualifier.Draw(t, "qualifier")
	column := [2]string{family, qualifier}
	n := rapid.Int64Range(0, 9).Draw(t, "value")
	op := cells.Op(rapid.IntRange(0, 5).Draw(t, "op"))
	onCell := func(holds func(newestCell) bool) judge {
		return func(row naiveRow) (bool, bool) {
			c, ok := row.cells[column]
			return ok && holds(c), ok
		}
	}
	present := func(want bool) judge {
		return func(row naiveRow) (bool, bool) {
			_, ok := row.cells[column]
			return ok == want, true
		}
	}
	switch kind {
	case 0:
		return read.Exists(family, qualifier), present(true)
	case 1:
		return read.Absent(family, qualifier), present(false)
	case 2:
		return read.WhereIn(family, qualifier, cells.I64(n), cells.F64(5)), onCell(func(c newestCell) bool { return c.value == n || c.value == 5 })
	case 3:
		other := [2]string{draw.family.Draw(t, "other family"), draw.qualifier.Draw(t, "other qualifier")}
		if rapid.Bool().Draw(t, "times") {
			return read.WhereTimes(family, qualifier, op, other[0], other[1]), onCells(column, other, op, func(a, b newestCell) int { return cmp.Compare(a.at, b.at) })
		}
		return read.WhereColumns(family, qualifier, op, other[0], other[1]), onCells(column, other, op, func(a, b newestCell) int { return cmp.Compare(a.value, b.value) })
	case 4:
		at := genStamp.Draw(t, "at")
		return read.WhereTime(family, qualifier, op, at), onCell(func(c newestCell) bool { return comparisons[op](cmp.Compare(c.at, at)) })
	case 5:
		key := draw.row.Draw(t, "key")
		return read.WhereKey(op, key), func(row naiveRow) (bool, bool) { return comparisons[op](cmp.Compare(row.key, key)), true }
	case 6:
		re := regexp.MustCompile(`^[ab]`)
		return read.WhereKeyMatch(`[ab]\C*`), func(row naiveRow) (bool, bool) { return re.MatchString(row.key), true }
	}
	return read.Where(family, qualifier, op, cells.I64(n)), onCell(func(c newestCell) bool { return comparisons[op](cmp.Compare(c.value, n)) })
}

// onCells judges two cells, which both have to be there.
func onCells(column, other [2]string, op cells.Op, compare func(a, b newestCell) int) judge {
	return func(row naiveRow) (bool, bool) {
		a, ok := row.cells[column]
		b, found := row.cells[other]
		return ok && found && comparisons[op](compare(a, b)), ok && found
	}
}

func drawCompound(t *rapid.T, draw names, levels, kind int) (read.Condition, judge) {
	n := 1
	if kind > 8 {
		n = rapid.IntRange(1, 3).Draw(t, "terms")
	}
	terms, judges := make([]read.Condition, n), make([]judge, n)
	for i := range terms {
		terms[i], judges[i] = drawCondition(t, draw, levels)
	}
	// one of the terms decides, or else one that is not known
	among := func(decisive bool) judge {
		return func(row naiveRow) (bool, bool) {
			allKnown := true
			for _, j := range judges {
				holds, known := j(row)
				if known && holds == decisive {
					return decisive, true
				}
				allKnown = allKnown && known
			}
			return !decisive, allKnown
		}
	}
	switch kind {
	case 8:
		return read.Negate(terms[0]), func(row naiveRow) (bool, bool) {
			holds, known := judges[0](row)
			return !holds, known
		}
	case 9:
		return read.All(terms...), among(false)
	}
	return read.Any(terms...), among(true)
}

func allHold(judges []judge, row naiveRow) bool {
	return !slices.ContainsFunc(judges, func(j judge) bool {
		holds, known := j(row)
		return !holds || !known
	})
}
