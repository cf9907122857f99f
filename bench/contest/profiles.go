package contest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/smolwc/smolwc/bench/report"
)

// profiles profile one contender of one workload over all measured rounds: the processor's
// time, allocations, and the time that goroutines wait for locks (mutex, by who held the
// lock) and for anything in Go (block, by who waited). A nil value takes no profiles.
type profiles struct {
	dir  string
	cpu  []*bytes.Buffer
	sums map[string][]*bytes.Buffer // of the process until each round, and until its end
}

// summed are Go's profiles that are sums since the process began.
var summed = []string{"allocs", "mutex", "block"}

// blockRate is the time of waits in nanoseconds for which one wait is noted on average.
const blockRate = 10_000

// measure calls do and keeps its profiles.
func (p *profiles) measure(do func() error) error {
	if p == nil {
		return do()
	}
	if err := p.keepSums(); err != nil {
		return err
	}
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(blockRate)
	cpu := new(bytes.Buffer)
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return err
	}
	err := do()
	pprof.StopCPUProfile()
	runtime.SetMutexProfileFraction(0)
	runtime.SetBlockProfileRate(0)
	if err != nil {
		return err
	}
	p.cpu = append(p.cpu, cpu)
	return p.keepSums()
}

// keepSums keeps the profiles of the process until now.
func (p *profiles) keepSums() error {
	if p.sums == nil {
		p.sums = map[string][]*bytes.Buffer{}
	}
	runtime.GC() // the profile shows the state at the last collection
	runtime.GC()
	for _, kind := range summed {
		now := new(bytes.Buffer)
		p.sums[kind] = append(p.sums[kind], now)
		if err := pprof.Lookup(kind).WriteTo(now, 0); err != nil {
			return err
		}
	}
	return nil
}

// ofProfiling are the functions that allocate for the profiles themselves.
var ofProfiling = regexp.MustCompile(`^runtime/pprof\.|\(\*profiles\)\.keepSums$`)

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

// write writes the profiles of a result into files, such as get-row-16.cpu.pprof for 16
// goroutines.
func (p *profiles) write(r report.Result) error {
	if p == nil || len(p.cpu) == 0 { // no contender is profiled
		return nil
	}
	name := strings.ReplaceAll(r.Workload, "/", "-")
	if r.Workers > 1 {
		name += fmt.Sprintf("-%d", r.Workers)
	}
	of := maps.Clone(p.sums)
	of["cpu"] = p.cpu
	for kind, parts := range of {
		all, err := merged(parts, kind != "cpu")
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
