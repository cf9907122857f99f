package transfer

import (
	"slices"

	"github.com/smolwc/smolwc/cells"
)

func (p *plan) row(rec *record) (row, *LineError) {
	if p.cells != nil {
		return p.cellRow(rec)
	}
	var bad *LineError
	if p.keyText, bad = p.key.append(p.keyText[:0], rec, "row key", rec.field); bad != nil {
		return row{}, bad
	}
	if n := len(p.keyText); n == 0 || n > cells.MaxRowKey {
		return row{}, rec.wrong("makes a row key of %d bytes; a row key has 1 to %d", n, cells.MaxRowKey)
	}
	ts := serverTime
	if p.spreads && p.tsPath != nil && p.tsPath.list {
		times, bad := p.elementTimes(rec)
		if bad != nil {
			return row{}, bad
		}
		return p.spreadRow(rec, ts, times)
	}
	if p.ts != noField || p.tsOf != nil {
		if ts, bad = p.timestamp(rec); bad != nil {
			return row{}, bad
		}
	}
	if p.spreads {
		return p.spreadRow(rec, ts, nil)
	}
	made := p.room(len(p.columns))
	for i := range p.columns {
		c := &p.columns[i]
		f := rec.fields[c.field]
		switch {
		case f.state == nested:
			return row{}, rec.notOneValue(c)
		case p.leavesOut(c, f):
			continue
		}
		text, bad := rec.decoded(c.field)
		if bad != nil {
			return row{}, bad
		}
		text, problem := c.code.decode(text)
		if problem != "" {
			return row{}, rec.fault(c.field, "%s", problem)
		}
		v, problem := c.convert(text, f)
		if problem != "" {
			return row{}, rec.fault(c.field, "%s (for %s:%s)", problem, c.family, c.qualifier)
		}
		name, bad := p.name(c, rec, rec.field)
		if bad != nil {
			return row{}, bad
		}
		made = append(made, cells.Cell{Family: c.family, Qualifier: name, Timestamp: ts, Value: v})
	}
	return p.made(rec, string(p.keyText), made), nil
}

func (p *plan) cellRow(rec *record) (row, *LineError) {
	if p.cells.scanned {
		key, made, bad := p.cells.scannedRow(rec)
		return row{line: rec.base + rec.line, lines: 1, key: key, cells: made}, bad
	}
	key, bad := p.cells.key(rec)
	if bad != nil {
		return row{}, bad
	}
	cell, bad := p.cells.cell(rec)
	if bad != nil {
		return row{}, bad
	}
	return p.made(rec, key, append(p.room(1), cell)), nil
}

// spreadRow makes a row whose number of cells depends on the record.
func (p *plan) spreadRow(rec *record, ts cells.Timestamp, times []cells.Timestamp) (row, *LineError) {
	s := spread{plan: p, rec: rec, ts: ts, times: times, seen: map[spreadCell]int{}}
	for i := range p.columns {
		if bad := s.column(&p.columns[i]); bad != nil {
			return row{}, bad
		}
	}
	return row{line: rec.base + rec.line, lines: max(rec.lines, 1), key: string(p.keyText), cells: s.made, left: s.left}, nil
}

func (p *plan) timestamp(rec *record) (cells.Timestamp, *LineError) {
	if p.tsOf != nil {
		text, bad := p.tsOf.append(nil, rec, "timestamp", rec.field)
		if bad != nil {
			return 0, bad
		}
		ts, problem := parseTimestamp(string(text))
		if problem != "" {
			return 0, rec.wrong("makes a timestamp: %s", problem)
		}
		return ts, nil
	}
	f := rec.fields[p.ts]
	if f.state == nested || p.empty(f) {
		return 0, rec.fault(p.ts, "has no timestamp here")
	}
	text, bad := rec.decoded(p.ts)
	if bad != nil {
		return 0, bad
	}
	ts, problem := parseTimestamp(text)
	if problem != "" {
		return 0, rec.fault(p.ts, "%s", problem)
	}
	return ts, nil
}

// made is a row of cells in such room.
func (p *plan) made(rec *record, key string, made []cells.Cell) row {
	p.arena = p.arena[:len(p.arena)+len(made)]
	return row{line: rec.base + rec.line, lines: max(rec.lines, 1), key: key, cells: slices.Clip(made)}
}

// room is room for up to n cells of the next row.
func (p *plan) room(n int) []cells.Cell {
	if cap(p.arena)-len(p.arena) < n {
		p.arena = make([]cells.Cell, 0, max(n, arenaCells))
	}
	return p.arena[len(p.arena):]
}

// arenaCells is the number of cells that are allocated together.
const arenaCells = 4096
