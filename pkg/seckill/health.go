package seckill

// Pool is a set of connections that has a limit.
type Pool struct {
	Name  string
	Used  int64  // taken by somebody now
	Max   int64  // how many may be
	Waits uint64 // how often somebody found none free, since the start
}

// RedisHealth is what the servers behind a sale say of themselves; of several, the worst.
type RedisHealth struct {
	Evicts     bool  // a full server drops keys
	InMemory   bool  // changes are not appended to a file
	SaveFailed bool  // the last write to that file, or the last snapshot, failed
	Memory     int64 // bytes used, of the server that is nearest to its limit
	MemoryMax  int64 // bytes it may use; 0: no limit
	Replicas   int64 // that follow the master which has the fewest
}
