package sql_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// A twin is a text in GoogleSQL, and the text that means the same to DuckDB. Where both
// texts differ, so do the dialects:
//   - integers: DuckDB's literals have 32 bits, some of its functions have other widths, and
//     a SUM has 128; CAST rounds a half to the even number; / and % by zero are NULL
//   - decimals: 0.5 is a DECIMAL there, 5e-1 is not
//   - texts: there is no position 0 in DuckDB's SUBSTR, and one before the beginning is not
//     the beginning; CONCAT leaves NULL out; an escape of LIKE has to be declared;
//     REGEXP_EXTRACT without a match is "", REGEXP_REPLACE replaces the first match; CAST
//     reads fractions as integers, and 0x1F not
//   - times: a DATE and an interval are a TIMESTAMP, DAYOFWEEK begins with 0, weeks begin on
//     Monday
//   - aggregates: COUNT_IF of no rows is NULL
//
// NaN is not used, which is larger than all numbers and equal to itself in DuckDB; nor are
// casts of FLOAT64 to STRING, which have another form there.
type twin struct{ here, duck string }

// alike is a text that both engines take; the arguments stand for %s.
func alike(format string, args ...twin) twin { return differ(format, format, args...) }

func differ(here, duck string, args ...twin) twin {
	var hs, ds []any
	for _, a := range args {
		hs, ds = append(hs, a.here), append(ds, a.duck)
	}
	return twin{fmt.Sprintf(here, hs...), fmt.Sprintf(duck, ds...)}
}

// listed joins twins.
func listed(all []twin, between string) (t twin) {
	for i, part := range all {
		if i > 0 {
			t.here, t.duck = t.here+between, t.duck+between
		}
		t.here, t.duck = t.here+part.here, t.duck+part.duck
	}
	return t
}

// A maker draws random expressions.
type maker struct{ *rapid.T }

func (m maker) upTo(n int) int { return rapid.IntRange(0, n-1).Draw(m.T, "choice") }

func (m maker) word(all ...string) twin {
	text := all[m.upTo(len(all))]
	return twin{text, text}
}

func (m maker) int(n int64) twin {
	return twin{fmt.Sprint(n), fmt.Sprintf("CAST(%d AS BIGINT)", n)}
}

func (m maker) smallInt() twin { return m.int(int64(m.upTo(14) - 4)) }

func (m maker) intLeaf() twin {
	return []twin{{"n['size']", "size"}, {"n['cost']", "cost"}, m.smallInt(), {"n['big']", "big"}}[m.upTo(13)/4]
}

const notZero = "CASE WHEN %[1]s IS NOT NULL AND %[2]s = 0 THEN CAST(error('division by zero') AS BIGINT) ELSE %[1]s %% %[2]s END"

func (m maker) ints(depth int) twin {
	if depth == 0 {
		return m.intLeaf()
	}
	a := func() twin { return m.ints(depth - 1) }
	switch m.upTo(19) {
	case 0, 1, 2:
		return alike("(%s %s %s)", a(), m.word("+", "-", "*", "&", "|"), a())
	case 3:
		return m.choice(a)
	case 4:
		return alike("ABS(%s)", a())
	case 5:
		return differ("DIV(%s, %s)", "(%s // %s)", a(), []twin{m.int(3), m.int(-2)}[m.upTo(2)])
	case 6:
		return alike("MOD(%s, %s)", a(), []twin{m.int(3), m.int(-4)}[m.upTo(2)])
	case 7:
		return differ("MOD(%[1]s, %[2]s)", notZero, a(), m.intLeaf())
	case 8:
		return differ("SIGN(%s)", "CAST(SIGN(%s) AS BIGINT)", a())
	case 9:
		return alike("LENGTH(%s)", m.texts(depth-1))
	case 10:
		return alike("STRPOS(%s, %s)", m.texts(depth-1), m.word("'p'", "'an'", "'é'", "' '"))
	case 11:
		return differ("(%s ^ %s)", "xor(%s, %s)", a(), a())
	case 12:
		return differ("CAST(%s AS INT64)", "CAST(ROUND(%s) AS BIGINT)", m.floats(depth-1))
	case 13:
		return differ("SAFE_CAST(%s AS INT64)", `CASE WHEN regexp_full_match(%[1]s, ' *[+-]?[0-9]+ *') THEN TRY_CAST(%[1]s AS BIGINT) END`, m.texts(depth-1))
	case 14:
		part := m.word("YEAR", "MONTH", "DAY", "QUARTER", "DAYOFYEAR", "ISOWEEK", "ISOYEAR")
		return differ("EXTRACT(%[1]s FROM %[2]s)", "CAST(datepart(replace(lower('%[1]s'), 'isoweek', 'week'), %[2]s) AS BIGINT)", part, m.days(depth-1))
	case 15:
		return differ("EXTRACT(DAYOFWEEK FROM %s)", "(dayofweek(%s) + 1)", m.days(depth-1))
	case 16:
		return differ("DATE_DIFF(%s, %s, %s)", "date_diff('%[3]s', %[2]s, %[1]s)", m.days(depth-1), m.days(depth-1), m.word("DAY", "MONTH", "QUARTER", "YEAR", "ISOYEAR"))
	case 17:
		return m.ofTime(depth - 1)
	}
	return m.ofCondition(depth - 1)
}

// choice is an expression of a kind that conditions choose.
func (m maker) choice(a func() twin) twin {
	switch m.upTo(5) {
	case 4:
		of := m.word("GREATEST", "LEAST").here // which leave NULL out in DuckDB
		return differ(of+"(%s, %s)", "CASE WHEN (%[1]s) IS NOT NULL AND (%[2]s) IS NOT NULL THEN "+of+"(%[1]s, %[2]s) END", a(), a())
	case 0:
		return alike("CASE WHEN %s THEN %s WHEN %s THEN %s END", m.conditions(0), a(), m.conditions(0), a())
	case 1:
		return differ("IF(%s, %s, %s)", "CASE WHEN %s THEN %s ELSE %s END", m.conditions(0), a(), a())
	case 2:
		return differ(m.word("COALESCE", "IFNULL").here+"(%s, %s)", "COALESCE(%s, %s)", a(), a())
	}
	return alike("NULLIF(%s, %s)", a(), a())
}

func (m maker) ofCondition(depth int) twin {
	switch m.upTo(3) {
	case 0:
		return differ("CAST(%s AS INT64)", "CAST(%s AS BIGINT)", m.conditions(depth))
	case 1:
		return alike("CASE %s WHEN 1 THEN 5 WHEN %s THEN %s ELSE NULL END", m.intLeaf(), m.intLeaf(), m.intLeaf())
	}
	a, b := m.intLeaf(), m.intLeaf()
	return differ("SAFE_ADD(%s, %s)", "TRY(%s + %s)", a, b)
}

func (m maker) ofTime(depth int) twin {
	switch m.upTo(4) {
	case 0:
		return differ("UNIX_SECONDS(%s)", "CAST(FLOOR(epoch_us(%s) / 1000000) AS BIGINT)", m.times(depth))
	case 1:
		return differ("UNIX_MICROS(%s)", "epoch_us(%s)", m.times(depth))
	case 2:
		return differ("EXTRACT(%[1]s FROM %[2]s)", "CAST(datepart(lower('%[1]s'), %[2]s) AS BIGINT)", m.word("YEAR", "MONTH", "DAY", "HOUR", "MINUTE"), m.times(depth))
	}
	return differ("TIMESTAMP_DIFF(%s, %s, %s)", "date_sub(lower('%[3]s'), %[2]s, %[1]s)", m.times(depth), m.times(depth), m.word("DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"))
}

func (m maker) floats(depth int) twin {
	if depth == 0 {
		return []twin{{"w['weight']", "weight"}, {"w['weight']", "weight"}, {"0.5", "5e-1"}, {"-2.25", "-225e-2"}, {"1e10", "1e10"}}[m.upTo(5)]
	}
	a := func() twin { return m.floats(depth - 1) }
	switch m.upTo(9) {
	case 0, 1:
		return alike("(%s %s %s)", a(), m.word("+", "-", "*"), a())
	case 2:
		return alike("(%s %s %s)", a(), m.word("+", "-", "*"), m.ints(depth-1))
	case 3:
		return m.choice(a)
	case 4:
		return alike("%s(%s)", m.word("ABS", "FLOOR", "CEIL", "ROUND", "TRUNC"), a())
	case 5:
		return differ("(%[1]s / %[2]s)", "CASE WHEN %[1]s IS NOT NULL AND %[2]s = 0 THEN CAST(error('division by zero') AS DOUBLE) ELSE CAST(%[1]s AS DOUBLE) / CAST(%[2]s AS DOUBLE) END", m.ints(depth-1), a())
	case 6:
		return differ("SAFE_DIVIDE(%[1]s, %[2]s)", "CASE WHEN %[2]s = 0 THEN NULL ELSE CAST(%[1]s AS DOUBLE) / CAST(%[2]s AS DOUBLE) END", a(), m.ints(depth-1))
	case 7:
		return alike("SQRT(ABS(%s))", a())
	}
	return differ("CAST(%s AS FLOAT64)", "CAST(%s AS DOUBLE)", m.ints(depth-1))
}

func (m maker) textLeaf() twin {
	return []twin{{"s['name']", "name"}, {"s['name']", "name"}, {"s['note']", "note"}, {"CAST(_key AS STRING)", "key"}, m.word("'apple'", "''", "'a p'", "'7'")}[m.upTo(5)]
}

func (m maker) texts(depth int) twin {
	if depth == 0 {
		return m.textLeaf()
	}
	a := func() twin { return m.texts(depth - 1) }
	count := func() twin { return m.int(int64(m.upTo(6))) }
	switch m.upTo(17) {
	case 0:
		return m.choice(a)
	case 1:
		return alike("(%s || %s)", a(), a())
	case 2:
		return differ("CONCAT(%s, %s)", "(%s || %s)", a(), a())
	case 3:
		return alike("%s(%s)", m.word("UPPER", "LOWER", "REVERSE", "TRIM", "LTRIM", "RTRIM"), a())
	case 4:
		return alike("%s(%s, %s)", m.word("TRIM", "LTRIM", "RTRIM"), a(), m.word("'a'", "'pa'", "'é '"))
	case 5:
		return differ("SUBSTR(%[1]s, %[2]s, %[3]s)", "SUBSTR(%[1]s, CASE WHEN %[2]s = 0 OR %[2]s < -LENGTH(%[1]s) THEN 1 ELSE %[2]s END, %[3]s)", a(), m.smallInt(), count())
	case 6:
		return differ("SUBSTR(%[1]s, %[2]s)", "SUBSTR(%[1]s, CASE WHEN %[2]s = 0 OR %[2]s < -LENGTH(%[1]s) THEN 1 ELSE %[2]s END)", a(), m.smallInt())
	case 7:
		return alike("%s(%s, %s)", m.word("LEFT", "RIGHT", "REPEAT"), a(), count())
	case 8:
		return differ("%s(%s, %s, %s)", "%s(%s, CAST(%s AS INTEGER), %s)", m.word("LPAD", "RPAD"), a(), count(), m.word("'-'", "'ab'", "'é'"))
	case 9:
		return alike("REPLACE(%s, %s, %s)", a(), m.word("'p'", "'a'", "'é'"), m.word("''", "'qq'", "'p'"))
	case 10:
		return differ("CAST(%s AS STRING)", "CAST(%s AS VARCHAR)", []func(int) twin{m.ints, m.conditions, m.days}[m.upTo(3)](depth-1))
	case 11:
		return differ("REGEXP_REPLACE(%s, %s, %s)", "regexp_replace(%s, %s, %s, 'g')", a(), m.word("'[aeé]'", "'p+'", "'^.'", "'(a)(p)'"), m.word("'_'", "''"))
	case 12:
		return differ("REGEXP_EXTRACT(%s, %s)", "CASE WHEN regexp_matches(%[1]s, %[2]s) THEN regexp_extract(%[1]s, %[2]s) END", a(), m.word("'[aeé]'", "'p+'", "'^.'", "'a.*'"))
	case 13:
		return differ("ARRAY_TO_STRING(SPLIT(%s, %s), '|')", "array_to_string(string_split(%s, %s), '|')", a(), m.word("'p'", "' '", "'pp'"))
	case 14:
		return differ("TO_HEX(%s(%s))", "lower(%s(%s))", m.word("MD5", "SHA256"), a())
	case 15:
		return differ("TO_BASE64(CAST(%s AS BYTES))", "to_base64(encode(%s))", a())
	}
	return differ("FORMAT_DATE(%[2]s, %[1]s)", "strftime(%[1]s, %[2]s)", m.days(depth-1), m.word("'%Y/%m/%d'", "'%j %a'", "'%B %y %A'"))
}

func (m maker) days(depth int) twin {
	if depth == 0 {
		return []twin{{"DATE_FROM_UNIX_DATE(n['day'])", "(DATE '1970-01-01' + CAST(day AS INTEGER))"}, m.word("DATE '2024-02-29'", "DATE '1999-12-31'")}[m.upTo(2)]
	}
	a := func() twin { return m.days(depth - 1) }
	switch m.upTo(6) {
	case 0:
		return m.choice(a)
	case 1:
		return differ("DATE_ADD(%s, INTERVAL %s %s)", "CAST(%s + INTERVAL (%s) %s AS DATE)", a(), m.smallInt(), m.word("DAY", "WEEK", "MONTH", "QUARTER", "YEAR"))
	case 2:
		return differ("DATE_SUB(%s, INTERVAL %s %s)", "CAST(%s - INTERVAL (%s) %s AS DATE)", a(), m.smallInt(), m.word("DAY", "WEEK", "MONTH", "QUARTER", "YEAR"))
	case 3:
		return differ("DATE_TRUNC(%[1]s, %[2]s)", "CAST(date_trunc(replace(lower('%[2]s'), 'isoweek', 'week'), %[1]s) AS DATE)", a(), m.word("ISOWEEK", "MONTH", "QUARTER", "YEAR"))
	case 4:
		return alike("LAST_DAY(%s)", a())
	}
	return differ("DATE(%s)", "CAST(%s AS DATE)", m.times(depth-1))
}

func (m maker) times(depth int) twin {
	if depth == 0 {
		return []twin{{"TIMESTAMP_MILLIS(n['at'])", "epoch_ms(moment)"}, {"TIMESTAMP '2024-02-29 23:59:59.5+00'", "TIMESTAMP '2024-02-29 23:59:59.5'"}}[m.upTo(2)]
	}
	a := func() twin { return m.times(depth - 1) }
	part := func() twin { return m.word("DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND") }
	switch m.upTo(4) {
	case 0:
		return m.choice(a)
	case 1:
		return differ("TIMESTAMP_ADD(%s, INTERVAL %s %s)", "(%s + INTERVAL (%s) %s)", a(), m.smallInt(), part())
	case 2:
		return differ("TIMESTAMP_SUB(%s, INTERVAL %s %s)", "(%s - INTERVAL (%s) %s)", a(), m.smallInt(), part())
	}
	return differ("TIMESTAMP_TRUNC(%[1]s, %[2]s)", "CAST(date_trunc('%[2]s', %[1]s) AS TIMESTAMP)", a(), part())
}

// any is an expression of any type whose text is the same in both engines.
func (m maker) any(depth int) twin {
	switch m.upTo(6) {
	case 0, 1:
		return m.ints(depth)
	case 2:
		return m.floats(depth)
	case 3:
		return m.days(depth)
	case 4:
		return m.conditions(depth)
	}
	return m.texts(depth)
}

func (m maker) conditions(depth int) twin {
	if depth > 0 && m.upTo(2) == 0 {
		a := func() twin { return m.conditions(depth - 1) }
		switch m.upTo(5) {
		case 0:
			return alike("NOT (%s)", a())
		case 1:
			return alike("(%s) IS %s", a(), m.word("TRUE", "FALSE", "NOT TRUE", "NOT FALSE", "NULL"))
		case 2:
			return m.choice(a)
		}
		return alike("(%s %s %s)", a(), m.word("AND", "OR"), a())
	}
	kinds := []func(int) twin{m.ints, m.floats, m.texts, m.days, m.times}
	kind := kinds[m.upTo(len(kinds))]
	a := func() twin { return kind(depth) }
	switch m.upTo(9) {
	case 8:
		return alike("(%s) IS %s FROM (%s)", a(), m.word("DISTINCT", "NOT DISTINCT"), a())
	case 0:
		return alike("%s IS %s", a(), m.word("NULL", "NOT NULL"))
	case 1:
		return alike("%s %s %s AND %s", a(), m.word("BETWEEN", "NOT BETWEEN"), a(), a())
	case 2:
		return alike("%s %s (%s, %s)", a(), m.word("IN", "NOT IN"), a(), a())
	case 3:
		return alike("%s %s (%s, NULL)", a(), m.word("IN", "NOT IN"), a())
	case 4:
		return differ("%s %s UNNEST([%s, %s])", "%s %s (%s, %s)", a(), m.word("IN", "NOT IN"), a(), a())
	case 5:
		return m.ofText(depth)
	}
	return alike("%s %s %s", a(), m.word("=", "!=", "<", "<=", ">", ">=", "<>"), a())
}

func (m maker) ofText(depth int) twin {
	a := m.texts(depth)
	switch m.upTo(4) {
	case 0:
		return differ("%s %s '%s'", `%s %s '%s' ESCAPE '$'`, a, m.word("LIKE", "NOT LIKE"), m.pattern())
	case 1:
		return alike("%s(%s, %s)", m.word("STARTS_WITH", "ENDS_WITH"), a, m.textLeaf())
	}
	return differ("REGEXP_CONTAINS(%s, %s)", "regexp_matches(%s, %s)", a, m.word("'^[a-f]'", "'p{2}'", "'é|g$'", "'^$'"))
}

func (m maker) pattern() twin {
	var all []twin
	for range m.upTo(5) {
		all = append(all, []twin{alike("%%"), alike("_"), alike("a"), alike("p"), alike("é"), {`\\%`, "$%"}, {`\\_`, "$_"}}[m.upTo(7)])
	}
	return listed(all, "")
}

func (m maker) aggregate() twin {
	distinct := m.word("", "DISTINCT ")
	switch m.upTo(9) {
	case 0:
		return alike("COUNT(*)")
	case 1:
		return alike("COUNT(%s%s)", distinct, m.any(1))
	case 2:
		return differ("SUM(%s%s)", "CAST(SUM(%s%s) AS BIGINT)", distinct, m.ints(1))
	case 3:
		return alike("%s(%s%s)", m.word("SUM", "AVG"), distinct, m.floats(1))
	case 4:
		return alike("AVG(%s%s)", distinct, []twin{{"n['size']", "size"}, {"n['cost']", "cost"}}[m.upTo(2)])
	case 5:
		return alike("%s(%s)", m.word("MIN", "MAX"), m.any(1))
	case 6:
		return differ("COUNTIF(%s)", "COALESCE(COUNT_IF(%s), 0)", m.conditions(1))
	case 7:
		return differ("%s(%s)", "%s(%s)", []twin{{"LOGICAL_AND", "BOOL_AND"}, {"LOGICAL_OR", "BOOL_OR"}}[m.upTo(2)], m.conditions(1))
	}
	return alike("%s(%s)", m.word("BIT_AND", "BIT_OR", "BIT_XOR"), m.ints(1))
}

// A random is a query. The pipes are the same query in pipe syntax.
type random struct {
	twin
	pipes   string
	ordered bool
}

func (m maker) query() random {
	from := alike("t")
	if m.upTo(6) == 0 {
		from = m.unnested()
	}
	where, pipes := twin{}, "FROM "+from.here
	if m.upTo(2) == 0 {
		where = alike(" WHERE %s", m.conditions(2))
		pipes += " |>" + where.here
	}
	switch m.upTo(4) {
	case 0:
		a, b := m.any(2), m.any(2)
		order := m.order("a") + ", " + m.order("b") + ", k"
		columns := alike("%s AS a, %s AS b, %s AS k", a, b, twin{"CAST(_key AS STRING)", "key"})
		if from.here != "t" {
			columns = alike("%s, u", columns)
			return random{alike("SELECT %s FROM %s%s", columns, from, where), pipes + " |> SELECT " + columns.here, false}
		}
		limit := fmt.Sprintf(" LIMIT %d OFFSET %d", m.upTo(12), m.upTo(4))
		return random{alike("SELECT %s FROM %s%s ORDER BY "+order+limit, columns, from, where), pipes + " |> SELECT " + columns.here + " |> ORDER BY " + order + " |>" + limit, true}
	case 1:
		columns := alike("%s AS a, %s AS b", m.any(2), m.any(1))
		return random{alike("SELECT DISTINCT %s FROM %s%s", columns, from, where), pipes + " |> SELECT " + columns.here + " |> DISTINCT", false}
	case 2:
		columns := alike("%s AS a, %s AS b", m.aggregate(), m.aggregate())
		return random{alike("SELECT %s FROM %s%s", columns, from, where), pipes + " |> AGGREGATE " + columns.here, false}
	}
	key, a := m.any(1), alike("%s AS a, %s AS b", m.aggregate(), m.aggregate())
	having := ""
	if m.upTo(2) == 0 {
		having = fmt.Sprintf(" HAVING COUNT(*) > %d", 1+m.upTo(3))
	}
	order := m.order("g")
	r := random{twin: alike("SELECT %s AS g, %s FROM %s%s GROUP BY g"+having+" ORDER BY "+order, key, a, from, where), ordered: true}
	r.duck = strings.Replace(r.duck, "GROUP BY g", "GROUP BY 1", 1)
	if having == "" {
		r.pipes = pipes + " |> AGGREGATE " + a.here + " GROUP BY " + key.here + " AS g |> ORDER BY " + order
	}
	return r
}

func (m maker) order(column string) string {
	return column + m.word(" NULLS FIRST", " DESC NULLS LAST", " NULLS LAST", " DESC NULLS FIRST").here
}

// unnested is the table with the elements of an array of each row.
func (m maker) unnested() twin {
	switch m.upTo(3) {
	case 0:
		return differ("t, UNNEST([%[1]s, %[2]s, NULL]) AS u", "t, UNNEST([%[1]s, %[2]s, NULL]) AS x(u)", m.intLeaf(), m.intLeaf())
	case 1:
		return differ("t, UNNEST(SPLIT(%s, 'p')) AS u", "t, UNNEST(string_split(%s, 'p')) AS x(u)", m.textLeaf())
	}
	return differ("t, UNNEST(GENERATE_ARRAY(1, MOD(n['size'], 4))) AS u", "t, UNNEST(range(1, size %% 4 + 1)) AS x(u)")
}
