//go:build race

package main

// raceMemory is how many times as much memory the process may take with the race
// detector, which keeps what was accessed.
const raceMemory = 3
