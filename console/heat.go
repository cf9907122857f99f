package console

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/smolwc/smolwc/api/activity"
	"github.com/smolwc/smolwc/schema"
)

// The times that the page offers, in hours. The server keeps samples for the longest.
var heatHours = []int{1, 6, 24, 48, 168, 336}

// A heatPage is the heat of a table. The map is drawn by a script, from heatMap.
type heatPage struct {
	Table schema.Table
	Hours int
	Rows  []activity.HotRow
	Map   string // the address of the map
}

// period says how long a number of hours is.
func period(hours int) string {
	switch {
	case hours == 1:
		return "the last hour"
	case hours%24 == 0 && hours > 24:
		return fmt.Sprintf("the last %d days", hours/24)
	}
	return fmt.Sprintf("the last %d hours", hours)
}

// showHeat is the page of a table's heat.
func showHeat(v *visit) error {
	t, hours, h, err := v.heat()
	if err != nil {
		return err
	}
	return v.show("heat", "Heat of "+t.Name, heatPage{t, hours, h.Rows, address(t.Name, "heat.json", "hours", strconv.Itoa(hours))})
}

// heat asks for the heat of a page's table.
func (v *visit) heat() (t schema.Table, hours int, h *activity.Heat, err error) {
	if t, err = v.table(); err != nil {
		return t, 0, nil, err
	}
	if hours, err = number(v.r, "hours", 24, heatHours[len(heatHours)-1]); err != nil {
		return t, 0, nil, err
	}
	h, err = v.Heat(v.r.Context(), activity.HeatRequest{Table: t.Name, Since: time.Now().Add(-time.Duration(hours) * time.Hour)})
	return t, hours, h, err
}

// A heatMap is the counts of a table by time and key bucket.
type heatMap struct {
	Since  int64      `json:"since_ms"` // of the first column, since 1970
	Column int64      `json:"column_ms"`
	Keys   []string   `json:"keys"`   // the first key of each bucket, as text for people
	Fields []string   `json:"fields"` // the same as fields of the table's form have it
	Reads  [][]uint64 `json:"reads"`
	Writes [][]uint64 `json:"writes"`
}

// sendHeat sends the map of a table's heat as JSON.
func sendHeat(v *visit) error {
	t, _, h, err := v.heat()
	if err != nil {
		return err
	}
	m := heatMap{Since: h.Since.UnixMilli(), Column: h.Column.Milliseconds(), Keys: []string{}, Fields: []string{}, Reads: h.Reads, Writes: h.Writes}
	for _, key := range h.Keys {
		m.Keys, m.Fields = append(m.Keys, keyText(t, key)), append(m.Fields, field(key))
	}
	v.w.Header().Set("Content-Type", "application/json")
	v.w.Header().Set("Cache-Control", "no-store")
	return json.NewEncoder(v.w).Encode(m)
}
