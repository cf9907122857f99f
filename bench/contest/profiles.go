package contest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/smolwc/smolwc/bench/report"
)

// profiles are those of one contender of one workload, over all measured rounds: of the
// processor's time, and of allocations. A nil value takes no profiles.
type profiles struct {
	dir    string
	cpu    []*bytes.Buffer
	allocs []*bytes.Buffer // of the process until each round, and until its end
}

// measure calls do and keeps its profiles.
func (p *profiles) measure(do func() error) error {
	if p == nil {
		return do()
	}
	if err := p.keepAllocs(); err != nil {
		return err
	}
	cpu := new(bytes.Buffer)
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return err
	}
	err := do()
	pprof.StopCPUProfile()
	if err != nil {
		return err
	}
	p.cpu = append(p.cpu, cpu)
	return p.keepAllocs()
}

// keepAllocs keeps the allocations of the process until now.
func (p *profiles) keepAllocs() error {
	runtime.GC() // the profile has what the last collection has seen
	runtime.GC()
	now := new(bytes.Buffer)
	p.allocs = append(p.allocs, now)
	return pprof.Lookup("allocs").WriteTo(now, 0)
}

// ofProfiling are the functions that allocate for the profiles themselves.
var ofProfiling = regexp.MustCompile(`^runtime/pprof\.|\(\*profiles\)\.keepAllocs$`)

// merged is one profile of many. If they are sums until some time, every second one is
// taken less the one before it.
func merged(of []*bytes.Buffer, sums bool) (*profile.Profile, error) {
	var all []*profile.Profile
	for i, b := range of {
		one, err := profile.Parse(b)
		if err != nil {
			return nil, err
		}
		if sums && i%2 == 0 {
			one.Scale(-1)
		}
		one.FilterSamplesByName(nil, ofProfiling, nil, nil)
		all = append(all, one)
	}
	return profile.Merge(all)
}

// write writes the profiles of a result into files, such as get-row-16.cpu.pprof and
// get-row-16.allocs.pprof for 16 goroutines.
func (p *profiles) write(r report.Result) error {
	if p == nil || len(p.cpu) == 0 { // no contender is profiled
		return nil
	}
	name := strings.ReplaceAll(r.Workload, "/", "-")
	if r.Workers > 1 {
		name += fmt.Sprintf("-%d", r.Workers)
	}
	for kind, of := range map[string][]*bytes.Buffer{"cpu": p.cpu, "allocs": p.allocs} {
		all, err := merged(of, kind == "allocs")
		if err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(p.dir, name+"."+kind+".pprof"))
		if err != nil {
			return err
		}
		if err := errors.Join(all.Write(f), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
