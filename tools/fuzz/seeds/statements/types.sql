SELECT * FROM types;;@SELECT * FROM types;;COPY types TO STDOUT (FORMAT binary);;UPDATE types SET k = 'nan', q = q * 2, w = w || 'x'
