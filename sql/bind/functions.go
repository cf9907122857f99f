package bind

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/smolwc/smolwc/sql/function"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// listed are the functions that are not only forms of package function. Messages list
// functions in this order.
func listed() []builtin {
	list := []builtin{
		{name: "CAST", text: "CAST(value AS type) type", ownSyntax: true, neverSafe: true},
		{name: "SAFE_CAST", text: "SAFE_CAST(value AS type) type", ownSyntax: true, neverSafe: true},
		{name: "COALESCE", text: "COALESCE(T, …) T", compile: compileFirstOf, neverSafe: true},
		{name: "IFNULL", text: "IFNULL(T, T) T", compile: compileFirstOf, neverSafe: true},
		{name: "NULLIF", text: "NULLIF(T, T) T", compile: compileNullIf, neverSafe: true},
		{name: "IF", text: "IF(BOOL, T, T) T", compile: compileIf, neverSafe: true},
		{name: "EXTRACT", text: "EXTRACT(part FROM value [AT TIME ZONE STRING]) INT64; EXTRACT(DATE FROM value [AT TIME ZONE STRING]) DATE; EXTRACT(DATETIME FROM TIMESTAMP [AT TIME ZONE STRING]) DATETIME", compile: compileExtract, neverSafe: true},

		{name: "FORMAT", text: "FORMAT(STRING, value…) STRING", compile: compileFormat},
		{name: "TO_JSON_STRING", text: "TO_JSON_STRING(value [, BOOL]) STRING", compile: compileToJSON},
		{name: "STARTS_WITH", text: "STARTS_WITH(STRING, STRING) BOOL; STARTS_WITH(BYTES, BYTES) BOOL", compile: compileAffix},
		{name: "ENDS_WITH", text: "ENDS_WITH(STRING, STRING) BOOL; ENDS_WITH(BYTES, BYTES) BOOL", compile: compileAffix},
		{name: "CONTAINS_SUBSTR", text: "CONTAINS_SUBSTR(value, STRING) BOOL", compile: compileContains},
		{name: "RANGE_BUCKET", text: "RANGE_BUCKET(T, ARRAY<T>) INT64", compile: compileRangeBucket},
		{name: "TO_INT64", text: "TO_INT64(BYTES) INT64", compile: compileNumber},
		{name: "TO_FLOAT32", text: "TO_FLOAT32(BYTES) FLOAT32", compile: compileNumber},
		{name: "TO_FLOAT64", text: "TO_FLOAT64(BYTES) FLOAT64", compile: compileNumber},
		{name: "GREATEST", text: "GREATEST(T, …) T", compile: compileExtremeOf},
		{name: "LEAST", text: "LEAST(T, …) T", compile: compileExtremeOf},
		{name: "GROUPING", text: "GROUPING(T) INT64", compile: compileGrouping, neverSafe: true},
		{name: "RAND", text: "RAND() FLOAT64", compile: compileRandom, unsteady: true},
		{name: "HLL_COUNT.EXTRACT", text: "HLL_COUNT.EXTRACT(BYTES) INT64", compile: compileHLLExtract},

		{name: "TIMESTAMP", text: "TIMESTAMP(value) TIMESTAMP", compile: compileTimestamp},
		{name: "DATE", text: "DATE(INT64, INT64, INT64) DATE; DATE(value) DATE", compile: compileDate},
		{name: "DATETIME", text: "DATETIME(value) DATETIME", compile: compileDatetime},
		{name: "CURRENT_TIMESTAMP", text: "CURRENT_TIMESTAMP() TIMESTAMP", compile: compileCurrent, bare: true, unsteady: true},
		{name: "CURRENT_DATE", text: "CURRENT_DATE([STRING]) DATE", compile: compileCurrent, bare: true, unsteady: true},
		{name: "CURRENT_TIME", bare: true, unsteady: true, instead: "there is no TIME; CURRENT_DATETIME has the time too"},
		{name: "CURRENT_DATETIME", text: "CURRENT_DATETIME([STRING]) DATETIME", compile: compileCurrentDatetime, bare: true, unsteady: true},
		{name: "GENERATE_UUID", text: "GENERATE_UUID() STRING", compile: compileUUID, unsteady: true},
		{name: "TO_JSON", text: "TO_JSON(value [, BOOL]) JSON", compile: compileJSONOf},
		{name: "JSON_ARRAY", text: "JSON_ARRAY(value…) JSON", compile: compileJSONMade},
		{name: "JSON_OBJECT", text: "JSON_OBJECT(STRING, value, …) JSON; JSON_OBJECT(ARRAY<STRING>, ARRAY<T>) JSON", compile: compileJSONMade},
		{name: "JSON_SET", text: "JSON_SET(JSON, STRING, value, … [, create_if_missing => BOOL]) JSON", compile: compileJSONChange},
		{name: "JSON_ARRAY_APPEND", text: "JSON_ARRAY_APPEND(JSON, STRING, value, … [, append_each_element => BOOL]) JSON", compile: compileJSONChange},
		{name: "JSON_ARRAY_INSERT", text: "JSON_ARRAY_INSERT(JSON, STRING, value, … [, insert_each_element => BOOL]) JSON", compile: compileJSONChange},
		{name: "SESSION_USER", unsteady: true},
		{name: parse.ViewParameters, text: "VIEW_PARAMETERS(STRING) STRING", compile: compileViewParameters, unsteady: true, neverSafe: true},

		{name: "ARRAY_LENGTH", text: "ARRAY_LENGTH(ARRAY<T>) INT64", compile: compileArrayLength},
		{name: "ARRAY_FIRST", text: "ARRAY_FIRST(ARRAY<T>) T", compile: compileArrayEnd},
		{name: "ARRAY_LAST", text: "ARRAY_LAST(ARRAY<T>) T", compile: compileArrayEnd},
		{name: "ARRAY_REVERSE", text: "ARRAY_REVERSE(ARRAY<T>) ARRAY<T>", compile: compileArrayReverse},
		{name: "ARRAY_FILTER", text: "ARRAY_FILTER(ARRAY<T>, e -> BOOL) ARRAY<T>; ARRAY_FILTER(ARRAY<T>, (e, i) -> BOOL) ARRAY<T>", compile: compileArrayLambda},
		{name: "ARRAY_TRANSFORM", text: "ARRAY_TRANSFORM(ARRAY<T>, e -> U) ARRAY<U>; ARRAY_TRANSFORM(ARRAY<T>, (e, i) -> U) ARRAY<U>", compile: compileArrayLambda},
		{name: "ARRAY_INCLUDES", text: "ARRAY_INCLUDES(ARRAY<T>, T) BOOL; ARRAY_INCLUDES(ARRAY<T>, e -> BOOL) BOOL", compile: compileArrayIncludes},
		{name: "ARRAY_INCLUDES_ANY", text: "ARRAY_INCLUDES_ANY(ARRAY<T>, ARRAY<T>) BOOL", compile: compileArrayIncludesSome},
		{name: "ARRAY_INCLUDES_ALL", text: "ARRAY_INCLUDES_ALL(ARRAY<T>, ARRAY<T>) BOOL", compile: compileArrayIncludesSome},
		{name: "ARRAY_OFFSET", text: "ARRAY_OFFSET(ARRAY<T>, T [, FIRST or LAST]) INT64; ARRAY_OFFSET(ARRAY<T>, e -> BOOL [, FIRST or LAST]) INT64", compile: compileArrayOffset},
		{name: "ARRAY_OFFSETS", text: "ARRAY_OFFSETS(ARRAY<T>, T) ARRAY<INT64>; ARRAY_OFFSETS(ARRAY<T>, e -> BOOL) ARRAY<INT64>", compile: compileArrayOffset},
		{name: "ARRAY_IS_DISTINCT", text: "ARRAY_IS_DISTINCT(ARRAY<T>) BOOL", compile: compileArrayIsDistinct},
		{name: "ARRAY_LAST_N", text: "ARRAY_LAST_N(ARRAY<T>, INT64) ARRAY<T>", compile: compileArrayPart},
		{name: "ARRAY_SLICE", text: "ARRAY_SLICE(ARRAY<T>, INT64, INT64) ARRAY<T>", compile: compileArrayPart},
		{name: "ARRAY_CONCAT", text: "ARRAY_CONCAT(ARRAY<T>, …) ARRAY<T>", compile: compileArrayConcat},
		{name: "MAP_KEYS", text: "MAP_KEYS(MAP<BYTES, T>) ARRAY<BYTES>", compile: compileMapKeys},
		{name: "MAP_VALUES", text: "MAP_VALUES(MAP<BYTES, T>) ARRAY<T>", compile: compileMapValues},
		{name: "MAP_ENTRIES", text: "MAP_ENTRIES(MAP<BYTES, T>) ARRAY<STRUCT<key BYTES, value T>>", compile: compileMapEntries},
		{name: "MAP_EMPTY", text: "MAP_EMPTY(MAP<BYTES, T>) BOOL", compile: compileMapEmpty},
		{name: "WRITE_TIMESTAMP", text: "WRITE_TIMESTAMP(family, BYTES) TIMESTAMP", compile: compileWriteTimestamp},
		{name: "MAP_CONTAINS_KEY", text: "MAP_CONTAINS_KEY(MAP<BYTES, T>, BYTES) BOOL", compile: compileContainsKey},

		{name: "COUNT", text: "COUNT(*) INT64; COUNT([DISTINCT] value) INT64", complete: completeCount, most: 1, inViews: true},
		{name: "COUNTIF", text: "COUNTIF(BOOL) INT64", complete: completeCountIf, most: 1},
		{name: "SUM", text: "SUM(INT64) INT64; SUM(FLOAT64) FLOAT64; SUM(NUMERIC) NUMERIC; SUM(INTERVAL) INTERVAL", complete: completeSum, most: 1, inViews: true},
		{name: "MIN", text: "MIN(T) T", complete: completeMin, most: 1, inViews: true},
		{name: "MAX", text: "MAX(T) T", complete: completeMax, most: 1, inViews: true},
		{name: "AVG", text: "AVG(INT64) FLOAT64; AVG(FLOAT64) FLOAT64; AVG(NUMERIC) NUMERIC; AVG(INTERVAL) INTERVAL", complete: completeAverage, most: 1, inViews: true},
		{name: "ANY_VALUE", text: "ANY_VALUE(T) T", complete: completeAnyValue, most: 1, inViews: true, ignoreNulls: true},
		{name: "ARRAY_AGG", text: "ARRAY_AGG(T) ARRAY<T>", complete: completeArrayAgg, most: 1, respectNulls: true, ignoreNulls: true, ordered: true},
		{name: "STRING_AGG", text: "STRING_AGG(STRING [, STRING]) STRING; STRING_AGG(BYTES [, BYTES]) BYTES", complete: completeStringAgg, most: 2, ordered: true},
		{name: "ARRAY_CONCAT_AGG", text: "ARRAY_CONCAT_AGG(ARRAY<T>) ARRAY<T>", complete: completeArrayConcatAgg, most: 1, ordered: true, neverOver: true},
		{name: "LOGICAL_AND", text: "LOGICAL_AND(BOOL) BOOL", complete: completeLogical, most: 1},
		{name: "LOGICAL_OR", text: "LOGICAL_OR(BOOL) BOOL", complete: completeLogical, most: 1},
		{name: "BIT_AND", text: "BIT_AND(INT64) INT64", complete: completeBits, most: 1, inViews: true},
		{name: "BIT_OR", text: "BIT_OR(INT64) INT64", complete: completeBits, most: 1, inViews: true},
		{name: "BIT_XOR", text: "BIT_XOR(INT64) INT64", complete: completeBits, most: 1, inViews: true},

		{name: "CORR", text: "CORR(FLOAT64, FLOAT64) FLOAT64", complete: completeStatistic, most: 2},
		{name: "COVAR_POP", text: "COVAR_POP(FLOAT64, FLOAT64) FLOAT64", complete: completeStatistic, most: 2},
		{name: "COVAR_SAMP", text: "COVAR_SAMP(FLOAT64, FLOAT64) FLOAT64", complete: completeStatistic, most: 2},
		{name: "STDDEV", text: "STDDEV(FLOAT64) FLOAT64", complete: completeStatistic, most: 1},
		{name: "STDDEV_POP", text: "STDDEV_POP(FLOAT64) FLOAT64", complete: completeStatistic, most: 1},
		{name: "STDDEV_SAMP", text: "STDDEV_SAMP(FLOAT64) FLOAT64", complete: completeStatistic, most: 1},
		{name: "VARIANCE", text: "VARIANCE(FLOAT64) FLOAT64", complete: completeStatistic, most: 1},
		{name: "VAR_POP", text: "VAR_POP(FLOAT64) FLOAT64", complete: completeStatistic, most: 1},
		{name: "VAR_SAMP", text: "VAR_SAMP(FLOAT64) FLOAT64", complete: completeStatistic, most: 1},

		{name: "APPROX_TOP_COUNT", text: "APPROX_TOP_COUNT(T, INT64) ARRAY<STRUCT<value T, count INT64>>", complete: completeTop, most: 2, neverOver: true},
		{name: "APPROX_TOP_SUM", text: "APPROX_TOP_SUM(T, INT64, INT64) ARRAY<STRUCT<value T, sum INT64>>; APPROX_TOP_SUM(T, FLOAT64, INT64) ARRAY<STRUCT<value T, sum FLOAT64>>", complete: completeTop, most: 3, neverOver: true},
		{name: "APPROX_COUNT_DISTINCT", text: "APPROX_COUNT_DISTINCT(value) INT64", complete: completeCountDistinct, most: 1, neverOver: true},
		{name: "APPROX_QUANTILES", text: "APPROX_QUANTILES(T, INT64) ARRAY<T>", complete: completeQuantiles, most: 2, ignoreNulls: true, neverOver: true},

		{name: "HLL_COUNT.INIT", text: "HLL_COUNT.INIT(value [, INT64]) BYTES", complete: completeHLLInit, most: 2, inViews: true, neverOver: true},
		{name: "HLL_COUNT.MERGE", text: "HLL_COUNT.MERGE(BYTES) INT64", complete: completeHLLMerge, most: 1, inViews: true, neverOver: true},
		{name: "HLL_COUNT.MERGE_PARTIAL", text: "HLL_COUNT.MERGE_PARTIAL(BYTES) BYTES", complete: completeHLLMerge, most: 1, inViews: true, neverOver: true},
	}
	for _, unit := range slices.Sorted(maps.Keys(value.UnixUnits)) {
		from := func(p *planner, n *parse.Node) (*expr, error) { return compileFromUnix(p, n, value.UnixUnits[unit]) }
		to := func(p *planner, n *parse.Node) (*expr, error) { return compileToUnix(p, n, value.UnixUnits[unit]) }
		list = append(list,
			builtin{name: "TIMESTAMP_FROM_UNIX_" + unit, text: "TIMESTAMP_FROM_UNIX_" + unit + "(INT64) TIMESTAMP; TIMESTAMP_FROM_UNIX_" + unit + "(TIMESTAMP) TIMESTAMP", compile: from},
			builtin{name: "TIMESTAMP_" + unit, text: "TIMESTAMP_" + unit + "(INT64) TIMESTAMP", compile: from},
			builtin{name: "UNIX_" + unit, text: "UNIX_" + unit + "(TIMESTAMP) INT64", compile: to})
	}
	return list
}

// operators compile what is not a literal, a constant or an error in every place.
var operators = map[parse.Operator]compiler{
	parse.OpLiteral: compileLiteral, parse.OpParam: compileParam, parse.OpViewParam: compileViewParam, parse.OpName: compileName, parse.OpIndex: compileIndex,
	parse.OpField: compileField, parse.OpCall: compileCall, parse.OpCast: compileCast, parse.OpSafeCast: compileCast,
	parse.OpNegate: compileNegate, parse.OpComplement: compileComplement, parse.OpCompare: compileCompare, parse.OpBinary: compileBinary,
	parse.OpCase: compileCase, parse.OpSwitch: compileSwitch, parse.OpIn: compileIn, parse.OpInArray: compileInArray,
	parse.OpBetween: compileBetween, parse.OpArray: compileArray, parse.OpStruct: compileStruct, parse.OpIs: compileIs,
	parse.OpSame: compileSame, parse.OpNot: compileNot, parse.OpLike: compileLike, parse.OpAnd: compileJunction, parse.OpOr: compileJunction,
	parse.OpQuery: compileQuery, parse.OpInQuery: compileInQuery, parse.OpOver: compileOver, parse.OpExists: compileExists,
	parse.OpSample: compileSample, parse.OpInterval: compileInterval,
}

// allFunctions is the registry of all functions and operators.
var allFunctions = sync.OnceValue(func() *registry {
	r := &registry{operators: operators, byName: map[string]*builtin{}}
	for _, b := range slices.Concat(listed(), windowFunctions()) {
		r.listed = append(r.listed, &b)
		r.byName[b.name] = &b
	}
	for _, name := range function.Names() {
		if r.byName[name] == nil {
			r.byName[name] = &builtin{name: name}
		}
		r.byName[name].forms = function.Named(name)
	}
	for name, b := range r.byName {
		if b.exists() {
			r.names = append(r.names, name)
		}
	}
	slices.Sort(r.names)
	return r
})

// A Function is a function that queries can call.
type Function struct {
	Name string
	// Signatures are its forms, such as LEFT(STRING, INT64) STRING. What is in brackets is
	// optional, … repeats, T and U are any types, and value is of any type.
	Signatures []string
	// Aggregate is an aggregate function, and Window one that needs OVER, which all aggregate
	// functions but a few take.
	Aggregate, Window bool
}

// Functions are all functions, sorted by their names.
func Functions() (list []Function) {
	for _, name := range allFunctions().names {
		b := allFunctions().named(name)
		f := Function{Name: name, Aggregate: b.complete != nil, Window: b.window != nil}
		if b.text != "" {
			f.Signatures = strings.Split(b.text, "; ")
		}
		for _, form := range b.forms {
			text := strings.ReplaceAll(form.Text, "[", " [, ")
			f.Signatures = append(f.Signatures, strings.ReplaceAll(text, "( [, ", "(["))
		}
		list = append(list, f)
	}
	return list
}
