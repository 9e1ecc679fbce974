SELECT factorial(20), plus(1, 2);;SELECT * FROM children(2);;CALL pay(1, 5);;CALL pay(99, 5);;DO $$ BEGIN FOR i IN 1..3 LOOP PERFORM plus(i, i); END LOOP; END $$
