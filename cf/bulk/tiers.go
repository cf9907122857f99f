package bulk

import "runtime"

// A load of any size leaves few spills, so that reading them takes bounded memory and
// few open files: as soon as a tier has fan spills, they are merged into one spill of
// the next tier.

// fan is the number of spills that are merged at once. Each takes the memory of a frame
// and of its compressed form for every goroutine that reads.
func (s *Sorter) fan() int { return min(max(s.limit/(2*spillStep), 16), 128) }

// spill spills an arena and returns all spills, with the new one last.
func (s *Sorter) spill(full *arena, spills []*spill) (_ []*spill, err error) {
	if s.packer == nil {
		if s.packer, err = newPacker(runtime.GOMAXPROCS(0)); err != nil {
			return spills, err
		}
	}
	f, err := full.spill(s.dir, s.packer)
	if err != nil {
		return spills, err
	}
	spills = append(spills, f)
	for err == nil && s.crowded(spills) {
		spills, err = s.mergeSpills(spills)
	}
	return spills, err
}

// crowded reports whether the last spills must be merged. Spills are in order of
// descending tiers.
func (s *Sorter) crowded(spills []*spill) bool {
	n := len(spills)
	return n >= s.fan() && spills[n-s.fan()].tier == spills[n-1].tier
}

func (s *Sorter) mergeSpills(spills []*spill) ([]*spill, error) {
	n := len(spills) - s.fan()
	from, raw := spills[n:], int64(0)
	for _, f := range from {
		for i := range f.runs {
			raw += f.runs[i].raw
		}
	}
	w := newSpillWriter(s.dir, s.families, from[0].tier+1, raw, s.packer)
	for family := range s.families {
		if err := s.mergeFamily(w, family, from); err != nil {
			w.abandon()
			return spills, err
		}
	}
	if err := w.end(); err != nil {
		w.abandon()
		return spills, err
	}
	return append(spills[:n], w.spill), nil
}

func (s *Sorter) mergeFamily(w *spillWriter, family int, from []*spill) error {
	w.begin(family)
	m := merger{ctx: s.ctx, settler: &s.settler, fn: w.groups}
	defer m.close()
	for _, f := range from {
		if err := m.add(newSpillSource(f, family, nil, nil, s.packer)); err != nil {
			return err
		}
	}
	if err := m.run(); err != nil {
		return err
	}
	return w.endFrame()
}
