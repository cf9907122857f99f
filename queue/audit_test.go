package queue_test

import (
	"fmt"
	"slices"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/queue"
	"github.com/smolwc/smolwc/tuple"
)

// audit reads all rows of a queue and checks what must hold between them: each item is
// in one order, each row of an order has its item, keys count their holders, unique
// keys name their items, an item that can be taken is found by a worker.
func audit(t judge, db *query.DB, q *queue.Queue) {
	t.Helper()
	var rows map[string][]queue.Raw
	var now int64
	must(t, db.Update(ctx, func(tx *query.Tx) (err error) {
		rows, err = q.Raws(ctx, tx)
		now = q.Now()
		return err
	}))
	a := &auditor{t, rows, map[string]queue.Raw{}, map[string]string{}}
	a.items()
	a.keys()
	a.uniques()
	a.pointers(now)
}

// An auditor complains about rows that do not fit together.
type auditor struct {
	judge
	rows  map[string][]queue.Raw
	item  map[string]queue.Raw // by zone and id
	order map[string]string    // the order of each item
}

func of(elems ...any) string { return fmt.Sprintf("%q", elems) }

// Places of elements in the rows of items.
const (
	itemKey, itemUnique, itemUniqueFor = 5, 6, 7
)

func (a *auditor) items() {
	for _, r := range a.rows["item"] {
		a.item[of(r.Key...)] = r
	}
	state := map[string]int64{}
	for _, r := range a.rows["state"] {
		at := of(r.Key...)
		if _, ok := a.item[at]; !ok {
			a.Errorf("the state %v has no item", r)
		}
		if state[at] = r.Value[0].(int64); queue.State(state[at]) == queue.Done {
			a.order[at] = "done"
		}
	}
	for _, order := range []string{"ready", "blocked", "lease", "dead"} {
		for _, r := range a.rows[order] {
			at := of(r.Key[0], r.Key[len(r.Key)-1])
			if _, ok := a.item[at]; !ok {
				a.Errorf("the %s row %v has no item", order, r)
			}
			if other := a.order[at]; other != "" {
				a.Errorf("item %s is %s and %s", at, other, order)
			}
			a.order[at] = order
			if _, moved := state[at]; moved != (r.Value[3] == true) {
				a.Errorf("item %s: the %s row %v disagrees with the state", at, order, r)
			}
		}
	}
	for at := range a.item {
		if a.order[at] == "" {
			a.Errorf("item %s is in no order", at)
		}
	}
	for _, r := range a.rows["result"] {
		if a.order[of(r.Key...)] != "done" {
			a.Errorf("the result %v has no item that is done", r.Key)
		}
	}
}

func (a *auditor) keys() {
	holders, waiting := map[string]int64{}, map[string]bool{}
	for at, order := range a.order {
		i := a.item[at]
		if key := i.Value[itemKey].(string); key != "" {
			at := of(i.Key[0], key)
			if order == "lease" {
				holders[at]++
			}
			waiting[at] = waiting[at] || order == "ready"
		}
	}
	for _, r := range a.rows["key"] {
		if n := r.Value[0].(int64); holders[of(r.Key...)] != n {
			a.Errorf("key %v counts %d holders; it has %d", r.Key, n, holders[of(r.Key...)])
		}
		delete(holders, of(r.Key...))
	}
	for at, n := range holders {
		a.Errorf("key %s counts no holders; it has %d", at, n)
	}
	for _, r := range a.rows["blocked"] {
		at := of(r.Key[0], r.Key[1])
		if i := a.item[of(r.Key[0], r.Key[len(r.Key)-1])]; i.Value[itemKey] != r.Key[1] {
			a.Errorf("%v waits for the key of another", r)
		}
		if !slices.ContainsFunc(a.rows["key"], func(k queue.Raw) bool { return of(k.Key...) == at }) && !waiting[at] {
			a.Errorf("%v waits for a key that nobody has", r)
		}
	}
}

func (a *auditor) uniques() {
	has := map[string]bool{}
	for _, r := range a.rows["unique"] {
		id, until := r.Value[0], r.Value[1].(int64)
		at := of(r.Key[0], id)
		if i, ok := a.item[at]; until == 0 && (!ok || i.Value[itemUnique] != r.Key[1]) {
			a.Errorf("the unique key %v has no item", r)
		}
		if order := a.order[at]; until == 0 && (order == "dead" || order == "done") {
			a.Errorf("the unique key %v is that of a %s item", r, order)
		}
		has[at] = true
	}
	for at, i := range a.item {
		order := a.order[at]
		if i.Value[itemUnique] != "" && i.Value[itemUniqueFor] == int64(0) && order != "dead" && order != "done" && !has[at] {
			a.Errorf("item %s does not have its unique key", at)
		}
	}
}

// pointers checks that a worker finds each item in time: the pointer of its zone is due
// when the first item can be taken, or shortly after; or the zone waits for a
// configuration or the end of a job.
func (a *auditor) pointers(now int64) {
	due := map[string]int64{}
	for _, r := range a.rows["pointer"] {
		due[r.Key[0].(string)] = r.Value[0].(int64)
	}
	for _, r := range a.rows["due"] {
		if len(r.Key) == 0 { // the bounds
			for _, r := range a.rows["due"][1:] {
				if r.Key[0].(int64) < a.rows["due"][0].Value[0].(int64) {
					a.Errorf("the pointer %v is before the bound", r.Key)
				}
			}
			continue
		}
		if at, zone := r.Key[0].(int64), r.Key[1].(string); due[zone] != at {
			a.Errorf("zone %q is due at %d by the order and at %d by its pointer", zone, at, due[zone])
		}
	}
	if n := slices.IndexFunc(a.rows["due"], func(r queue.Raw) bool { return len(r.Key) > 0 }); n >= 0 {
		count := 0
		for _, at := range due {
			if at != 0 {
				count++
			}
		}
		if count != len(a.rows["due"])-n {
			a.Errorf("%d pointers are due, %d are in the order", count, len(a.rows["due"])-n)
		}
	}
	zones := map[string]tuple.Tuple{}
	for _, r := range a.rows["zone"] {
		zones[r.Key[0].(string)] = r.Value
		if _, ok := due[r.Key[0].(string)]; !ok {
			a.Errorf("zone %q has no pointer", r.Key[0])
		}
	}
	for order, time := range map[string]int{"ready": 2, "lease": 1} {
		for _, r := range a.rows[order] {
			a.found(r, order, r.Key[time].(int64), due, zones, now)
		}
	}
}

// Places of elements in the rows of zones.
const (
	zoneLimit, zonePaused, zoneLeases, zoneReady = 1, 3, 5, 7
)

// found checks that a worker finds the item of a row when its time has come.
func (a *auditor) found(r queue.Raw, order string, at int64, due map[string]int64, zones map[string]tuple.Tuple, now int64) {
	name := r.Key[0].(string)
	z, ok := zones[name]
	if !ok {
		a.Errorf("%v has no zone", r)
		return
	}
	bound := z[zoneLeases].(int64)
	if order == "ready" {
		bounds := z[zoneReady].(tuple.Tuple)
		bound = -1
		for n := 0; n < len(bounds); n += 2 {
			if bounds[n] == r.Key[1] {
				bound = bounds[n+1].(int64)
			}
		}
	}
	if bound < 0 || at < bound {
		a.Errorf("%s %v is before its bound %d", order, r, bound)
	}
	const late = 1_100_000 // of a zone at its limit, in microseconds
	if z[zonePaused] == false && (due[name] == 0 || due[name] > max(at, now)+late) {
		a.Errorf("%s %v is visible at %d; its zone is visited at %d", order, r, at, due[name])
	}
}
