package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// BudgetHeader gives, with ExecuteQuery, the most that the query may read: rows and bytes, as in
// 100000,67108864. A server that knows it judges the query before it runs, and answers with
// [EstimateHeader].
const BudgetHeader = "smolwc-budget"

// EstimateHeader is how much a query with a budget is expected to read: rows, bytes, and exactly
// or about.
const EstimateHeader = "smolwc-estimate"

// FormatBudget is the text of a [BudgetHeader].
func FormatBudget(rows, bytes int64) string { return fmt.Sprintf("%d,%d", rows, bytes) }

// ParseBudget reads a [BudgetHeader].
func ParseBudget(text string) (rows, bytes int64, err error) {
	before, after, _ := strings.Cut(text, ",")
	if rows, err = strconv.ParseInt(before, 10, 64); err == nil {
		bytes, err = strconv.ParseInt(after, 10, 64)
	}
	if err != nil || rows <= 0 || bytes <= 0 {
		return 0, 0, Invalid("the budget is %.100q; want rows and bytes, as in 100000,67108864", text)
	}
	return rows, bytes, nil
}

// FormatEstimate is the text of an [EstimateHeader].
func FormatEstimate(rows, bytes int64, exact bool) string {
	return fmt.Sprintf("%d,%d,%s", rows, bytes, map[bool]string{true: "exactly", false: "about"}[exact])
}

// ParseEstimate reads an [EstimateHeader].
func ParseEstimate(text string) (rows, bytes int64, exact bool, ok bool) {
	parts := strings.Split(text, ",")
	if len(parts) != 3 {
		return 0, 0, false, false
	}
	rows, err1 := strconv.ParseInt(parts[0], 10, 64)
	bytes, err2 := strconv.ParseInt(parts[1], 10, 64)
	return rows, bytes, parts[2] == "exactly", err1 == nil && err2 == nil && rows >= 0 && bytes >= 0
}
