package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/rhino"
	"github.com/smolwc/smolwc/rhino/internal/control"
	"github.com/smolwc/smolwc/rhino/internal/door"
	"github.com/smolwc/smolwc/rhino/internal/front"
	"github.com/smolwc/smolwc/rhino/internal/link"
	"github.com/smolwc/smolwc/rhino/internal/region"
	"github.com/smolwc/smolwc/rhino/internal/replicate"
	"github.com/smolwc/smolwc/schema"
)

// leases is how many deadlines fit into a replicator's lease of facts.
const leases = 5

// maxCalls is how many requests to one server are under way at the same time.
const maxCalls = 4096

// A node is one process.
type node struct {
	*Config
	o       Options
	server  *tls.Config // nil without TLS
	client  *tls.Config
	control *control.Control
	regions map[string]*region.Region
	fronts  map[string]*front.Front
	links   map[string]*link.Link
	doors   []opened
	monitor *monitor
	ends    []func() error // run by close, the last one first
}

// An opened is a door and its listener.
type opened struct {
	door     *door.Door
	listener net.Listener
}

func newNode(c *Config, o Options) *node {
	return &node{monitor: newMonitor(), Config: c, o: o.defaults(), regions: map[string]*region.Region{}, fronts: map[string]*front.Front{}, links: map[string]*link.Link{}}
}

func (n *node) has(r Role) bool { return slices.Contains(n.o.Roles, r) }

// mine are the regions that this process runs.
func (n *node) mine() []Region {
	return slices.DeleteFunc(slices.Clone(n.Regions), func(g Region) bool {
		return len(n.o.Regions) > 0 && !slices.Contains(n.o.Regions, g.Name)
	})
}

// open opens the databases and the doors. close undoes it, also after an error.
func (n *node) open(ctx context.Context) (err error) {
	for _, name := range n.o.Regions {
		if _, err := n.find(name); err != nil {
			return err
		}
	}
	if n.server, n.client, err = n.TLS.load(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err := n.listen(); err != nil {
		return err
	}
	if n.has(ControlRole) {
		if err := n.openControl(ctx); err != nil {
			return err
		}
	}
	if n.has(RegionRole) {
		if err := n.openRegions(ctx); err != nil {
			return err
		}
	}
	if n.has(FrontRole) {
		for _, g := range n.mine() {
			n.fronts[g.Name] = &front.Front{Region: g.Name, Home: n.region(g.Name), Control: n.controlPeer()}
			if l := n.links[g.Address]; l != nil {
				n.monitor.needs(l.Connected, "the front of "+g.Name+" does not reach its region")
			}
		}
	}
	return nil
}

// listen takes the addresses, before the databases: they tell most mistakes.
func (n *node) listen() error {
	if n.has(ControlRole) {
		if err := n.take(n.Control, "the control", ControlRole, controlName); err != nil {
			return err
		}
	}
	for _, g := range n.mine() {
		if n.has(RegionRole) {
			if err := n.take(g.Place, "region "+g.Name, RegionRole, g.Name); err != nil {
				return err
			}
		}
		if n.has(FrontRole) {
			if err := n.take(g.Front, "the front of "+g.Name, FrontRole, g.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *node) take(p Place, who string, role Role, name string) error {
	l, err := n.o.Listen("tcp", p.Listen)
	if err != nil {
		return fmt.Errorf("%s: %w", who, err)
	}
	n.ends = append(n.ends, func() error { _ = l.Close(); return nil })
	if n.server != nil {
		l = tls.NewListener(l, n.server)
	}
	o := door.Options{Name: who, Deadline: n.Deadline, Logger: n.o.Logger, Secret: n.Secret, MaxMessage: rhino.MaxMessage + link.Overhead}
	switch role {
	case ControlRole:
		o.Sessions = func() door.Session { return n.control.Session() }
	case RegionRole:
		o.Sessions = func() door.Session { return n.regions[name] }
	case FrontRole:
		o.Secret, o.MaxMessage, o.InOrder = "", rhino.MaxMessage, front.InOrder
		o.Sessions = func() door.Session { return n.fronts[name].Session() }
	}
	region := name
	if role == ControlRole {
		region = ""
	}
	o.Answered = n.monitor.counting(string(role), region)
	d := door.New(o)
	n.monitor.gauge("connections", "Connections that are open.", func() float64 { return float64(d.Connections()) }, "role", string(role), "region", region)
	n.doors = append(n.doors, opened{d, l})
	return nil
}

func (n *node) openDB(p Place, s *schema.Schema) (*query.DB, error) {
	db, err := query.Open(p.DataDir, query.Options{Schema: s, Memory: n.Memory, Logger: n.o.Logger})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDatabase, err)
	}
	n.ends = append(n.ends, db.Close)
	return db, nil
}

func (n *node) openControl(ctx context.Context) error {
	db, err := n.openDB(n.Control, control.Schema)
	if err != nil {
		return err
	}
	n.control, err = control.New(ctx, db, control.Options{Regions: n.names(), Lease: leases * n.Deadline, Stop: ctx.Done(), Logger: n.o.Logger})
	if err == nil {
		n.monitor.registry.MustRegister(n.control.Queue())
	}
	return err
}

func (n *node) openRegions(ctx context.Context) error {
	others := map[string]map[string]link.Peer{}
	for _, g := range n.mine() {
		db, err := n.openDB(g.Place, region.Schema)
		if err != nil {
			return err
		}
		others[g.Name] = map[string]link.Peer{}
		n.regions[g.Name], err = region.New(ctx, db, region.Options{Name: g.Name, Control: n.controlPeer(), Regions: others[g.Name],
			Timeout: n.Deadline * 3 / 4, Logger: n.o.Logger})
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDatabase, err)
		}
		ready := n.regions[g.Name].Ready
		n.monitor.state("ready", "1 when the region has had all facts; 0 before that.", ready, "region", g.Name)
		n.monitor.needs(ready, "region "+g.Name+" does not have all facts yet")
	}
	if n.control != nil { // so clients find them ready
		for _, r := range n.regions {
			if err := r.FillOnce(ctx); err != nil && ctx.Err() == nil {
				return fmt.Errorf("%w: %w", ErrDatabase, err)
			}
		}
	}
	for name, peers := range others {
		for _, other := range n.names() {
			if other != name {
				peers[other] = n.region(other)
			}
		}
	}
	return nil
}

// region is a region, in this process or another.
func (n *node) region(name string) link.Peer {
	if r := n.regions[name]; r != nil {
		return link.Local(r.Serve)
	}
	g, _ := n.find(name)
	return n.link("region "+name, g.Address)
}

// controlPeer is the control, in this process or another.
func (n *node) controlPeer() link.Peer {
	if n.control == nil {
		return n.link("the control", n.Control.Address)
	}
	s := n.control.Session()
	n.ends = append(n.ends, func() error { s.Close(); return nil })
	return link.Local(s.Serve)
}

// link is the connection to a server, one for each.
func (n *node) link(name, address string) *link.Link {
	if l := n.links[address]; l != nil {
		return l
	}
	l := link.New(link.Options{Name: name, URL: n.URL(address), Secret: n.Secret, TLS: n.client,
		Timeout: n.Deadline, MaxCalls: maxCalls, Logger: n.o.Logger})
	n.links[address] = l
	n.monitor.state("link_connected", "1 while there is a connection to another process; 0 otherwise.", l.Connected, "to", name)
	n.ends = append(n.ends, func() error { l.Close(); return nil })
	return l
}

// serve runs everything until the context ends, or a server fails.
func (n *node) serve(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(n.doors))
	var running sync.WaitGroup
	if n.has(ReplicatorRole) {
		o := replicate.Options{Control: n.controlPeer(), Regions: map[string]link.Peer{}, Timeout: n.Deadline, Logger: n.o.Logger}
		for _, name := range n.names() {
			o.Regions[name] = n.region(name)
		}
		running.Go(func() { replicate.Run(ctx, o) })
	}
	for _, r := range n.regions {
		running.Go(func() { r.Fill(ctx) })
	}
	if n.o.Pages != nil {
		n.monitor.needs(func() bool { return ctx.Err() == nil }, "stopping")
		defer n.o.Pages(n.monitor.pages())()
	}
	for i, d := range n.doors {
		running.Go(func() {
			defer stop()
			errs[i] = d.door.Serve(ctx, d.listener)
		})
	}
	if n.o.Ready != nil {
		n.o.Ready()
	}
	running.Wait()
	return errors.Join(errs...)
}

// close undoes open, in the opposite order.
func (n *node) close() error {
	var errs []error
	for _, end := range slices.Backward(n.ends) {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}
