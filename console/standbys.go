package console

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
)

// A standbysPage shows what the server is, and its standbys.
type standbysPage struct {
	client.Replicas
	Standbys []standbyLine
	None     string // why the server has no standbys, or shows none
}

// A standbyLine is a standby as its primary sees it.
type standbyLine struct {
	client.Replica
	Role   string
	Counts bool   // writes wait for it
	Why    string // it counts, or does not
}

func showStandbys(v *visit) error {
	all, err := v.Client.Replicas(v.r.Context())
	switch {
	case query.KindOf(err) == query.KindFailedPrecondition:
		return v.show("standbys", "Standbys", standbysPage{None: err.Error()})
	case err != nil:
		return err
	}
	p := standbysPage{Replicas: all}
	for _, r := range all.Replicas {
		p.Standbys = append(p.Standbys, lineOf(&all, r))
	}
	return v.show("standbys", "Standbys", p)
}

// lineOf says whether writes wait for a standby, and why.
func lineOf(all *client.Replicas, r client.Replica) standbyLine {
	l := standbyLine{Replica: r, Role: "standby"}
	switch {
	case r.Delay > 0:
		l.Role, l.Why = "delayed by "+spanText(r.Delay), "it stays behind"
	case r.Observer:
		l.Role, l.Why = "observer", "it observes"
	case all.SemiSync == "" || all.SemiSync == "off":
		l.Why = "writes wait for none"
	case all.Lease != nil && all.Lease.Heir != "" && !slices.Contains(strings.Split(all.Lease.Heir, ", "), r.Name):
		l.Why = "others are the synchronous ones"
	default:
		l.Counts, l.Why = true, "writes wait until it has them on its disk"
	}
	return l
}
