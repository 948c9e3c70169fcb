package sqlstore

import (
	"errors"

	"github.com/go-sql-driver/mysql"
	"github.com/openseckill/seckill/pkg/seckill"
)

// Errors of MySQL and MariaDB, by what they mean to us.
const (
	myNull          = 1048
	myNoColumn      = 1054
	myDuplicate     = 1062
	mySyntax        = 1064
	myNoTable       = 1146
	myLockWait      = 1205
	myDeadlock      = 1213
	myOutOfRange    = 1264
	myTruncated     = 1265
	myWrongValue    = 1292
	myIncorrect     = 1366
	myTooLong       = 1406
	myOverflow      = 1690
	myCheck         = 3819 // MySQL
	myCheckMariaDB  = 4025
	liteError       = 1 // syntax, no such table
	liteBusy        = 5
	liteLocked      = 6
	liteTooBig      = 18
	liteConstraint  = 19
	liteMismatch    = 20
	litePrimaryKey  = 1555 // extended code of liteConstraint
	liteUnique      = 2067 // extended code of liteConstraint
	litePrimaryMask = 0xff // the primary code of an extended one
)

// coded is an error of SQLite, whichever driver it comes from.
type coded interface {
	error
	Code() int
}

// fault gives an error its place and code. One that has a code keeps it.
func fault(op string, err error) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*seckill.Error](err); ok {
		return known
	}
	return &seckill.Error{Op: op, Code: codeOf(err), Err: err}
}

// codeOf is the only place that judges a driver's errors. Only what is known to be
// permanent is called so: Invalid, if no repetition cures these data; Internal, if this
// program does not fit this schema. All the rest may be over a moment later, and may even
// have happened: Unavailable.
func codeOf(err error) seckill.Code {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return codeOfMySQL(my.Number)
	}
	if lite, ok := errors.AsType[coded](err); ok {
		return codeOfSQLite(lite.Code())
	}
	return seckill.Unavailable
}

func codeOfMySQL(number uint16) seckill.Code {
	switch number {
	case myDuplicate:
		return seckill.Conflict
	case myNull, myOutOfRange, myTruncated, myWrongValue, myIncorrect, myTooLong, myOverflow, myCheck, myCheckMariaDB:
		return seckill.Invalid
	case myNoTable, mySyntax, myNoColumn:
		return seckill.Internal
	default:
		return seckill.Unavailable
	}
}

func codeOfSQLite(code int) seckill.Code {
	if code == litePrimaryKey || code == liteUnique {
		return seckill.Conflict
	}
	switch code & litePrimaryMask {
	case liteConstraint, liteTooBig, liteMismatch:
		return seckill.Invalid
	case liteError:
		return seckill.Internal
	default:
		return seckill.Unavailable
	}
}

// isDuplicate reports whether a unique index refused a row.
func isDuplicate(err error) bool { return err != nil && codeOf(err) == seckill.Conflict }

// isContention reports whether another transaction was in the way. The whole transaction
// is undone, or will be, and may be run again at once.
func isContention(err error) bool {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return my.Number == myDeadlock || my.Number == myLockWait
	}
	if lite, ok := errors.AsType[coded](err); ok {
		primary := lite.Code() & litePrimaryMask
		return primary == liteBusy || primary == liteLocked
	}
	return false
}
