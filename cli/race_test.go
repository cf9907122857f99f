//go:build race

package cli

// raceMemory is the factor by which the process may take more memory with the race
// detector, which records accesses.
const raceMemory = 3
