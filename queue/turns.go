package queue

import "maps"

// turns say which zone is visited next: the one that got the smallest share of the
// workers, in items by weight. A zone that comes, or comes again, takes its turn with
// those that were there: it cannot save up turns. This is fair queueing by start times
// (Goyal, Vin and Cheng, SIGCOMM 1996).
type turns struct {
	now float64 // when the last turn began
	by  map[string]turn
}

type turn struct {
	start, next float64 // the zone's last turn and, unless others are further, its next
	weight      int     // of the zone, at its last visit; 0 is not known
}

// of is the next turn of a zone.
func (t *turns) of(zone string) float64 { return max(t.by[zone].next, t.now) }

// begin begins the turn of a zone, which takes up to n items.
func (t *turns) begin(zone string, n int) {
	if t.by == nil {
		t.by = map[string]turn{}
	}
	if len(t.by) >= most {
		t.forget()
	}
	start, weight := t.of(zone), t.by[zone].weight
	t.now = start
	t.by[zone] = turn{start, start + float64(n)/float64(max(weight, 1)), weight}
}

// end ends the turn of a zone, which took n items.
func (t *turns) end(zone string, n, weight int) {
	start := t.by[zone].start
	t.by[zone] = turn{start, start + float64(n)/float64(weight), weight}
}

// forget removes the turns that say little.
func (t *turns) forget() {
	maps.DeleteFunc(t.by, func(_ string, at turn) bool { return at.next <= t.now })
	if len(t.by) >= most {
		clear(t.by)
	}
}
