package bind

import (
	"maps"
	"slices"
	"sync"

	"github.com/smolwc/smolwc/sql/function"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// noDatetime says why there is no CURRENT_TIME and no CURRENT_DATETIME.
const noDatetime = "there is no DATETIME and no TIME, and CURRENT_TIMESTAMP is this moment"

// listed are the functions that are not only forms of package function. Messages list
// functions in this order.
func listed() []builtin {
	list := []builtin{
		{name: "CAST", ownSyntax: true, neverSafe: true},
		{name: "SAFE_CAST", ownSyntax: true, neverSafe: true},
		{name: "COALESCE", compile: compileFirstOf, neverSafe: true},
		{name: "IFNULL", compile: compileFirstOf, neverSafe: true},
		{name: "NULLIF", compile: compileNullIf, neverSafe: true},
		{name: "IF", compile: compileIf, neverSafe: true},
		{name: "EXTRACT", compile: compileExtract, neverSafe: true},

		{name: "FORMAT", compile: compileFormat},
		{name: "TO_JSON_STRING", compile: compileToJSON},
		{name: "STARTS_WITH", compile: compileAffix},
		{name: "ENDS_WITH", compile: compileAffix},
		{name: "TO_INT64", compile: compileNumber},
		{name: "TO_FLOAT32", compile: compileNumber},
		{name: "TO_FLOAT64", compile: compileNumber},
		{name: "GREATEST", compile: compileExtremeOf},
		{name: "LEAST", compile: compileExtremeOf},
		{name: "RAND", compile: compileRandom, unsteady: true},
		{name: "HLL_COUNT.EXTRACT", compile: compileHLLExtract},

		{name: "TIMESTAMP", compile: compileTimestamp},
		{name: "DATE", compile: compileDate},
		{name: "CURRENT_TIMESTAMP", compile: compileCurrent, bare: true, unsteady: true},
		{name: "CURRENT_DATE", compile: compileCurrent, bare: true, unsteady: true},
		{name: "CURRENT_TIME", bare: true, unsteady: true, instead: noDatetime},
		{name: "CURRENT_DATETIME", bare: true, unsteady: true, instead: noDatetime},
		{name: "GENERATE_UUID", unsteady: true},
		{name: "SESSION_USER", unsteady: true},

		{name: "ARRAY_LENGTH", compile: compileArrayLength},
		{name: "ARRAY_FIRST", compile: compileArrayEnd},
		{name: "ARRAY_LAST", compile: compileArrayEnd},
		{name: "ARRAY_REVERSE", compile: compileArrayReverse},
		{name: "ARRAY_FILTER", compile: compileArrayLambda},
		{name: "ARRAY_TRANSFORM", compile: compileArrayLambda},
		{name: "ARRAY_INCLUDES", compile: compileArrayIncludes},
		{name: "ARRAY_INCLUDES_ANY", compile: compileArrayIncludesSome},
		{name: "ARRAY_INCLUDES_ALL", compile: compileArrayIncludesSome},
		{name: "ARRAY_OFFSET", compile: compileArrayOffset},
		{name: "ARRAY_OFFSETS", compile: compileArrayOffset},
		{name: "ARRAY_IS_DISTINCT", compile: compileArrayIsDistinct},
		{name: "ARRAY_LAST_N", compile: compileArrayPart},
		{name: "ARRAY_SLICE", compile: compileArrayPart},
		{name: "ARRAY_CONCAT", compile: compileArrayConcat},
		{name: "MAP_KEYS", compile: compileMapKeys},
		{name: "MAP_VALUES", compile: compileMapValues},
		{name: "MAP_ENTRIES", compile: compileMapEntries},
		{name: "MAP_EMPTY", compile: compileMapEmpty},
		{name: "MAP_CONTAINS_KEY", compile: compileContainsKey},

		{name: "COUNT", complete: completeCount, most: 1, inViews: true},
		{name: "COUNTIF", complete: completeCountIf, most: 1},
		{name: "SUM", complete: completeSum, most: 1, inViews: true},
		{name: "MIN", complete: completeMin, most: 1, inViews: true},
		{name: "MAX", complete: completeMax, most: 1, inViews: true},
		{name: "AVG", complete: completeAverage, most: 1, inViews: true},
		{name: "ANY_VALUE", complete: completeAnyValue, most: 1, inViews: true, ignoreNulls: true},
		{name: "ARRAY_AGG", complete: completeArrayAgg, most: 1, respectNulls: true, ignoreNulls: true, ordered: true},
		{name: "STRING_AGG", complete: completeStringAgg, most: 2, ordered: true},
		{name: "ARRAY_CONCAT_AGG", complete: completeArrayConcatAgg, most: 1, ordered: true},
		{name: "LOGICAL_AND", complete: completeLogical, most: 1},
		{name: "LOGICAL_OR", complete: completeLogical, most: 1},
		{name: "BIT_AND", complete: completeBits, most: 1, inViews: true},
		{name: "BIT_OR", complete: completeBits, most: 1, inViews: true},
		{name: "BIT_XOR", complete: completeBits, most: 1, inViews: true},

		{name: "CORR", complete: completeStatistic, most: 2},
		{name: "COVAR_POP", complete: completeStatistic, most: 2},
		{name: "COVAR_SAMP", complete: completeStatistic, most: 2},
		{name: "STDDEV", complete: completeStatistic, most: 1},
		{name: "STDDEV_POP", complete: completeStatistic, most: 1},
		{name: "STDDEV_SAMP", complete: completeStatistic, most: 1},
		{name: "VARIANCE", complete: completeStatistic, most: 1},
		{name: "VAR_POP", complete: completeStatistic, most: 1},
		{name: "VAR_SAMP", complete: completeStatistic, most: 1},

		{name: "APPROX_TOP_COUNT", complete: completeTop, most: 2},
		{name: "APPROX_TOP_SUM", complete: completeTop, most: 3},
		{name: "APPROX_COUNT_DISTINCT", complete: completeCountDistinct, most: 1},
		{name: "APPROX_QUANTILES", complete: completeQuantiles, most: 2, ignoreNulls: true},

		{name: "HLL_COUNT.INIT", complete: completeHLLInit, most: 2, inViews: true},
		{name: "HLL_COUNT.MERGE", complete: completeHLLMerge, most: 1, inViews: true},
		{name: "HLL_COUNT.MERGE_PARTIAL", complete: completeHLLMerge, most: 1, inViews: true},
	}
	for _, unit := range slices.Sorted(maps.Keys(value.UnixUnits)) {
		from := func(p *planner, n *parse.Node) (*expr, error) { return compileFromUnix(p, n, value.UnixUnits[unit]) }
		to := func(p *planner, n *parse.Node) (*expr, error) { return compileToUnix(p, n, value.UnixUnits[unit]) }
		list = append(list, builtin{name: "TIMESTAMP_FROM_UNIX_" + unit, compile: from}, builtin{name: "TIMESTAMP_" + unit, compile: from}, builtin{name: "UNIX_" + unit, compile: to})
	}
	return list
}

// operators compile what is not a literal, a constant or an error in every place.
var operators = map[parse.Operator]compiler{
	parse.OpLiteral: compileLiteral, parse.OpParam: compileParam, parse.OpName: compileName, parse.OpIndex: compileIndex,
	parse.OpField: compileField, parse.OpCall: compileCall, parse.OpCast: compileCast, parse.OpSafeCast: compileCast,
	parse.OpNegate: compileNegate, parse.OpComplement: compileComplement, parse.OpCompare: compileCompare, parse.OpBinary: compileBinary,
	parse.OpCase: compileCase, parse.OpSwitch: compileSwitch, parse.OpIn: compileIn, parse.OpInArray: compileInArray,
	parse.OpBetween: compileBetween, parse.OpArray: compileArray, parse.OpStruct: compileStruct, parse.OpIs: compileIs,
	parse.OpSame: compileSame, parse.OpNot: compileNot, parse.OpLike: compileLike, parse.OpAnd: compileJunction, parse.OpOr: compileJunction,
}

// allFunctions is the registry of all functions and operators.
var allFunctions = sync.OnceValue(func() *registry {
	r := &registry{operators: operators, byName: map[string]*builtin{}}
	for _, b := range listed() {
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

// FunctionNames are the names of all functions that queries can call, sorted.
func FunctionNames() []string { return slices.Clone(allFunctions().names) }
