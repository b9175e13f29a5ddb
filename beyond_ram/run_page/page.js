readings(document);
