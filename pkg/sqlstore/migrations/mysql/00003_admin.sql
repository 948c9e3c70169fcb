-- +goose Up

-- What admins did: who, when, and what changed. Rows are only ever added.
CREATE TABLE IF NOT EXISTS admin_audit (
    id         BIGINT      NOT NULL AUTO_INCREMENT,
    at         BIGINT      NOT NULL, -- Unix ms
    actor      BIGINT      NOT NULL, -- user id
    action     VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    voucher_id BIGINT      NOT NULL, -- 0: none
    request_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    detail     JSON        NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;
