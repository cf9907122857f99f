// Package lease decides in etcd which of several servers takes writes.
//
// Each server has an [Elector]. One of them holds the lease: its key in etcd goes when the
// server does not renew it in time. The server stops taking writes before that, by its own
// clock. Then one of the others begins a new term, if the rules of [State] allow it: with
// strict semi-sync only a server that holds every acknowledged write.
// docs/testdata/promises-standby.txt lists the promises and their tests.
package lease
