-- +goose Up

CREATE TABLE admin_audit (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    actor      INTEGER NOT NULL,
    action     TEXT    NOT NULL,
    voucher_id INTEGER NOT NULL,
    request_id TEXT    NOT NULL,
    detail     TEXT    NOT NULL
);
