package history

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func promoted(h History, number int64, after uint64, leader string) History {
	return h.Begin(Epoch{Number: number, ID: leader, After: after, Leader: leader})
}

func TestTheLastPositionOfAnEpochIsSharedByBothSides(t *testing.T) {
	old := History{}.Anew()
	db2 := promoted(old, 2, 10, "db2")
	db3 := promoted(old, 2, 12, "db3")
	again := promoted(db2, 3, 20, "db1")
	for _, c := range []struct {
		what     string
		in       History
		position uint64
		by       History
		want     string // part of the error; "" for no error
	}{
		{"before the fork", old, 9, db2, ""},
		{"at the fork", old, 10, db2, ""},
		{"the tail", old, 11, db2, "the change at position 11 of epoch 1 is lost: db2 was promoted without it (epoch 2, after position 10)"},
		{"the other leader's position", db3, 12, db2, "position 12 of epoch 1 is lost"},
		{"the other leader's epoch", db3, 13, db2, "another epoch 2"},
		{"at the first of two forks", old, 10, again, ""},
		{"the tail before two promotions", old, 15, again, "epoch 2, after position 10"},
		{"the tail of the second leader", db2, 21, again, "db1 was promoted without it (epoch 3, after position 20)"},
		{"at the second fork", db2, 20, again, ""},
		{"a later epoch", again, 21, db2, "this database is in epoch 2"},
		{"a later epoch, at its beginning", again, 20, db2, ""},
		{"a history", old, 1, History{}, "never had a standby"},
		{"kept anew", again, 21, again.Anew(), ""},
		{"the tail, kept anew", old, 15, again.Anew(), "is lost"},
	} {
		err := c.by.Check(c.in.Of(c.position), c.position)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
		if later := strings.HasPrefix(c.want, "this database is in"); errors.Is(err, ErrLater) != later {
			t.Errorf("%s: ErrLater is %v", c.what, !later)
		}
	}
}

// A server of the model has its whole log. Each record is there once in the world, unless it
// was copied: so two logs are equal up to a position if they have the same record there.
type server struct {
	log   []string
	notes map[int]History // written at these positions
}

// history is that of a prefix of the log.
func (s *server) history(position int) (h History) {
	at := 0
	for p, note := range s.notes {
		if p <= position && p >= at {
			h, at = note, p
		}
	}
	return h
}

func (s *server) write(record string) int {
	s.log = append(s.log, record)
	return len(s.log)
}

// A server accepts the place of a change exactly if it has the change, wherever standbys were
// promoted, and whatever that has lost.
func TestAPlaceIsAcceptedExactlyWhereItsChangeIs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type place struct {
			mark   Mark
			at     int
			record string
		}
		n, places := 0, []place{}
		record := func() string { n++; return fmt.Sprint("record ", n) }
		first := &server{notes: map[int]History{}}
		first.notes[first.write(record())] = History{}.Anew()
		servers := []*server{first}
		take := func(s *server, at int) {
			places = append(places, place{s.history(len(s.log)).Of(uint64(at)), at, s.log[at-1]})
		}
		for range rapid.IntRange(5, 60).Draw(rt, "steps") {
			s := servers[rapid.IntRange(0, len(servers)-1).Draw(rt, "server")]
			switch rapid.SampledFrom([]string{"write", "write", "write", "token", "promote", "anew"}).Draw(rt, "step") {
			case "write":
				take(s, s.write(record()))
			case "token":
				take(s, rapid.IntRange(1, len(s.log)).Draw(rt, "position"))
			case "anew": // the log was not kept for standbys for a while
				h := s.history(len(s.log))
				s.notes[s.write(record())] = h.Anew()
			case "promote": // a standby, which may be behind
				after := rapid.IntRange(1, len(s.log)).Draw(rt, "after")
				h := s.history(after)
				next := &server{log: slices.Clone(s.log[:after]), notes: map[int]History{}}
				for at, note := range s.notes {
					if at <= after {
						next.notes[at] = note
					}
				}
				name := record()
				e := Epoch{Number: h.Epoch + rapid.Int64Range(1, 2).Draw(rt, "epochs"), ID: name, After: uint64(after), Leader: name}
				next.notes[next.write(name)] = h.Begin(e)
				servers = append(servers, next)
			}
		}
		for i, s := range servers {
			for _, p := range places {
				has := p.at <= len(s.log) && s.log[p.at-1] == p.record
				if err := s.history(len(s.log)).Check(p.mark, uint64(p.at)); (err == nil) != has {
					rt.Fatalf("server %d has %v, place %+v: %v; its log is %v", i, s.history(len(s.log)), p, err, s.log)
				}
			}
		}
	})
}
