package model

// mistake is a rule of the protocol that is switched off.
type mistake int

// The mistakes, one at a time.
const (
	noMistake        mistake = iota
	releaseAnyOrder          // release takes whatever order the user holds
	releaseByBuyer           // a release is due of a user, not of an order
	cancelRedisFirst         // a cancellation releases in Redis before SQL decides
	releaseFirst             // a worker gives a unit back before the rejected row is there
	ackFirst                 // a worker settles before it commits
	syncStaysOpen            // a sync does not close the sale first
	syncWithoutToken         // a sync does not ask whether another one has begun
	syncSQLFirst             // a sync reads SQL before the stream
	syncDropsTickets         // a sync forgets tickets with neither row nor entry
	noEpoch                  // a deduction does not ask for the epoch
	markUnlocked             // a repair marks a row that it does not hold
	markUnbalanced           // a repair marks where the books do not balance
	cutSQLFirst              // a total is cut in SQL before Redis
	cutAnyEpoch              // a total is cut in SQL whatever was synced meanwhile
	blindExpiry              // the time-out writes what it read earlier, on no condition
	lateReturnsUnit          // a payment that lost to the time-out returns the unit, too
	skippingCursor           // the publisher remembers the last number, not what is unpublished
	statusSQLFirst           // a status query reads SQL before the ticket
)
