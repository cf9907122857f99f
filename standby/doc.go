// Package standby runs copies of a database that follow it, and can take its place.
//
// A [Primary] feeds standbys from a database that [query.Open] opens. [Open] runs a
// standby: it copies the primary's files unless it has them, applies each record of the
// primary's log at the same position, and gives a [query.DB] for reads. A standby feeds
// further standbys in the same way.
//
// A standby's rows equal its primary's at the same position, or it stops: when a record is missing
// or damaged, or the primary's history is another one, it is rebuilt from a new copy.
// [Standby.Promote] makes a standby the primary, in the next epoch: servers of earlier epochs take
// no writes once they know of it. docs/standby.md says what is promised.
package standby
