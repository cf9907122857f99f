package client

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
)

// Replicas are a server and its standbys.
type Replicas struct {
	Standby   bool          // the server is a standby
	Primary   string        // that it follows; "" for a primary
	Connected bool          // to its primary
	Lag       time.Duration // since it had everything that its primary had; 0 for a primary
	Rebuilds  int64         // how often it was rebuilt since it was started
	Epoch     int64         // 0 for a database that never had a standby
	Position  uint64        // of the newest write
	FencedBy  string        // of a primary that was replaced: the address of the server that leads
	Untold    []string      // old primaries that may not have been fenced: addresses, or words for a file with one that cannot be read
	Diverged  []string      // directories of the server that were kept aside, the oldest first; with 4 of them no further one can be
	SemiSync  string        // of a primary: off, degrade or strict
	Degraded  bool          // writes of a primary do not wait for a standby now
	// Acks is how many standbys of a primary have to have a write that waits, and Acknowledging how
	// many that count are connected. Both are 0 for a server that does not say so.
	Acks, Acknowledging int
	Alone               int64         // writes that have returned without a standby although they should have waited
	Replicas            []Replica     // the standbys that are connected to the server
	Verified            *Verification // of a standby: the last one since it was started; nil for none
	Differed            int64         // of a standby: verifications since then that have found a difference
	Lease               *Lease        // of a server that takes writes only with a lease; nil for others
	// Delay is how long a standby waits before it applies a record; the waiting ones take DelayedBytes of its disk. It can be
	// promoted to each moment since DelayedSince; zero: only to the present one.
	Delay        time.Duration
	DelayedBytes int64
	DelayedSince time.Time
}

// A Lease describes the lease without which no server takes writes, as a server knows it.
type Lease struct {
	Held   bool          // by the server
	Left   time.Duration // after it the server takes no writes, unless the lease is renewed
	Leader string        // the address of the server that holds the lease; "" for none
	Heir   string        // with strict semi-sync: the synchronous standbys, which may take over, as in "db2:8086, db3:8086"
	Err    string        // why etcd did not answer last; "" if it did
}

// A Replica is a standby of a server.
type Replica struct {
	Name, Address   string
	Applied, Synced uint64 // the positions up to which the log is applied, and on its disk
	BehindRecords   uint64 // changes that it has not applied yet
	BehindBytes     int64  // of the log that were not sent to it
	Lag             time.Duration
	Observer        bool          // writes never wait for it
	Delay           time.Duration // how long it waits before it applies a change
	// Verified is the last verification that it reported to the server, without its tables;
	// nil without one.
	Verified *Verification
}

// A Verification is the result of a comparison of a standby with its primary.
type Verification struct {
	Position   uint64        // of both
	Began      time.Time     // by the standby's clock
	Took       time.Duration // until the result
	Difference string        // the first one; "" if both are equal
	Tables     []VerifiedTable
}

// A VerifiedTable is a table in a standby and in its primary. The one without a name is
// the catalog, whose rows are entries.
type VerifiedTable struct {
	Name          string
	Here, Primary CellSum
	// Difference says what is different in Row, the first row that differs; "" if the
	// table is the same in both.
	Difference, Row string
}

// A CellSum is the number, the size and the checksum of cells.
type CellSum struct {
	Rows, Cells int64
	Bytes       int64 // of row keys, qualifiers and values
	Checksum    uint64
}

// A VerifyProgress says how far [Client.Verify] is.
type VerifyProgress struct {
	Table        string // the one under way; "" is the catalog
	Cells, Bytes int64  // so far, in all tables
}

// Verify makes the standby that the server is compare its cells with its primary's, both as
// of one position. against is the primary's address as the standby knows it. It needs the
// right to administer all tables. progress is called now and then; it may be nil. If they
// differ, the error is nil, and the standby serves nothing until it is copied anew.
func (c *Client) Verify(ctx context.Context, against string, progress func(VerifyProgress)) (*Verification, error) {
	if err := c.ready(ctx); err != nil {
		return nil, databaseError(err)
	}
	stream, err := smolwcpb.NewStandbysClient(c.conn).Verify(ctx, &smolwcpb.VerifyRequest{Against: against})
	for err == nil {
		var m *smolwcpb.VerifyResponse
		if m, err = stream.Recv(); err != nil {
			break
		}
		if m.GetResult() != nil {
			return verificationOf(m.GetResult()), nil
		}
		if progress != nil {
			progress(VerifyProgress{m.GetTable(), m.GetCells(), m.GetBytes()})
		}
	}
	if errors.Is(err, io.EOF) {
		err = status.Error(codes.Internal, "the standby gives no result")
	}
	return nil, databaseError(err)
}

func verificationOf(m *smolwcpb.Verification) *Verification {
	if m == nil {
		return nil
	}
	v := &Verification{Position: m.GetPosition(), Began: time.UnixMicro(m.GetBeganMicros()), Took: micros(m.GetTookMicros()), Difference: m.GetDifference()}
	for _, t := range m.GetTables() {
		v.Tables = append(v.Tables, VerifiedTable{t.GetName(), cellSumOf(t.GetHere()), cellSumOf(t.GetPrimary()), t.GetDifference(), string(t.GetRow())})
	}
	return v
}

func cellSumOf(m *smolwcpb.Sum) CellSum {
	return CellSum{m.GetRows(), m.GetCells(), m.GetBytes(), m.GetChecksum()}
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// A Promotion is the result of [Client.Promote].
type Promotion struct {
	Epoch int64  // that the server leads now
	After uint64 // the last position of the previous epoch
	// Moment is when the last change of a standby with a delay was written; zero if it is not known.
	Moment time.Time
	// Unfenced is why the old primary was not fenced yet; "" if it takes no writes.
	Unfenced string
}

// Promote makes the standby that the server is the primary; it then takes writes. leader is
// the address by which others reach the server, HOST:PORT. It needs the right to administer
// all tables. An error that is no answer of the server leaves open whether it was promoted.
func (c *Client) Promote(ctx context.Context, leader string) (Promotion, error) {
	return c.PromoteAt(ctx, leader, time.Time{})
}

// PromoteAt is [Client.Promote] of a standby with a delay, with all that was written up to a moment, and nothing later; the zero moment is
// the newest one.
func (c *Client) PromoteAt(ctx context.Context, leader string, at time.Time) (Promotion, error) {
	if err := c.ready(ctx); err != nil {
		return Promotion{}, databaseError(err)
	}
	req := &smolwcpb.PromoteRequest{Leader: leader}
	if !at.IsZero() {
		req.AtMicros = at.UnixMicro()
	}
	m, err := smolwcpb.NewStandbysClient(c.conn).Promote(ctx, req)
	if err != nil {
		return Promotion{}, databaseError(err)
	}
	p := Promotion{Epoch: m.GetEpoch(), After: m.GetAfter(), Unfenced: m.GetUnfenced()}
	if micros := m.GetMomentMicros(); micros != 0 {
		p.Moment = time.UnixMicro(micros).UTC()
	}
	return p, nil
}

// Switchover makes a standby of the primary that the server is the primary, in its place: the
// server stops taking writes, waits until the standby received all of them, and promotes it. It
// needs the right to administer all tables. to is the address of the standby. After an error with
// a kind other than unknown the server goes on as before.
func (c *Client) Switchover(ctx context.Context, to string) (after uint64, err error) {
	if err := c.ready(ctx); err != nil {
		return 0, databaseError(err)
	}
	m, err := smolwcpb.NewStandbysClient(c.conn).Switchover(ctx, &smolwcpb.SwitchoverRequest{To: to})
	if err != nil {
		return 0, databaseError(err)
	}
	return m.GetAfter(), nil
}

// Replicas asks the server for its role, and for its standbys. It needs the right to
// administer all tables.
func (c *Client) Replicas(ctx context.Context) (Replicas, error) {
	if err := c.ready(ctx); err != nil {
		return Replicas{}, databaseError(err)
	}
	m, err := smolwcpb.NewStandbysClient(c.conn).ListReplicas(ctx, new(smolwcpb.ListReplicasRequest))
	if err != nil {
		return Replicas{}, databaseError(err)
	}
	all := Replicas{Standby: m.GetStandby(), Primary: m.GetPrimary(), Connected: m.GetConnected(), Lag: micros(m.GetLagMicros()),
		Rebuilds: m.GetRebuilds(), Epoch: m.GetEpoch(), Position: m.GetPosition(), FencedBy: m.GetFencedBy(), Untold: m.GetUntold(), Diverged: m.GetDiverged(), SemiSync: m.GetSemiSync(), Degraded: m.GetDegraded(), Acks: int(m.GetAcks()), Acknowledging: int(m.GetAcknowledging()), Alone: m.GetUnacknowledged(), Verified: verificationOf(m.GetVerified()), Differed: m.GetDiffered(),
		Delay: micros(m.GetDelayMicros()), DelayedBytes: m.GetDelayedBytes()}
	if since := m.GetDelayedSinceMicros(); since != 0 {
		all.DelayedSince = time.UnixMicro(since).UTC()
	}
	if l := m.GetLease(); l != nil {
		all.Lease = &Lease{Held: l.GetHeld(), Left: micros(l.GetLeftMicros()), Leader: l.GetLeader(), Heir: l.GetHeir(), Err: l.GetError()}
	}
	for _, r := range m.GetReplicas() {
		all.Replicas = append(all.Replicas, Replica{Name: r.GetName(), Address: r.GetAddress(), Applied: r.GetApplied(), Synced: r.GetSynced(),
			BehindRecords: r.GetBehindRecords(), BehindBytes: r.GetBehindBytes(), Lag: micros(r.GetLagMicros()), Observer: r.GetObserver(), Delay: micros(r.GetDelayMicros()), Verified: verificationOf(r.GetVerified())})
	}
	return all, nil
}
