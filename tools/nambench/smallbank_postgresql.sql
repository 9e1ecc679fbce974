-- SmallBank's send_payment as PL/pgSQL: what workloads/smallbank_procedures.cc does, with one statement less
-- (the balance is checked by the update). For compare-postgresql.
CREATE PROCEDURE smallbank_send_payment(from_custid bigint, to_custid bigint, amount bigint) LANGUAGE plpgsql AS $$
BEGIN
  IF from_custid = to_custid THEN
    RAISE EXCEPTION 'a customer cannot pay itself';
  END IF;
  IF amount < 0 THEN
    RAISE EXCEPTION 'a payment must not be negative';
  END IF;
  PERFORM FROM accounts WHERE custid = from_custid;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no account of customer %', from_custid;
  END IF;
  PERFORM FROM accounts WHERE custid = to_custid;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no account of customer %', to_custid;
  END IF;
  UPDATE checking SET bal = bal - amount WHERE custid = from_custid AND bal >= amount;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'insufficient funds of customer %', from_custid;
  END IF;
  UPDATE checking SET bal = bal + amount WHERE custid = to_custid;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no account of customer %', to_custid;
  END IF;
END
$$;
